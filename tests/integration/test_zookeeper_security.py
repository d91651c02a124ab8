"""A ZooKeeper that only brokers may change: they serve and fail over on it, and nobody else gets in."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka.admin import (
    AdminClient,
    NewTopic,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from barnabas.cluster.zk.client.client_settings import security_of
from barnabas.cluster.zk.client.errors import (
    InvalidAcl,
    NoAuth,
    NoNode,
    RequestFailed,
    SessionExpired,
    ZooKeeperAuthFailed,
    ZooKeeperUnavailable,
)
from barnabas.cluster.zk.client.security import UNSECURED, Login, ZooKeeperSecurity
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema.znode_acls import OPEN, ZnodeAcl, default_acl
from barnabas.local.cluster import LocalCluster
from barnabas.local.errors import ClusterError
from barnabas.local.waiting import wait_until
from barnabas.local.zookeeper_security import ServerSecurity, ServerTls
from barnabas.page.observer import Observer
from tests.certificates import Authority

SCRIPT = Path(__file__).parents[2] / "scripts" / "zookeeper-security-migration.sh"
USERS = {"kafka": 'a "b"\\c = d; }', "guest": "other"}
BROKER = ZooKeeperSecurity(Login("kafka", USERS["kafka"]), set_acl=True)
GUEST = ZooKeeperSecurity(Login("guest", USERS["guest"]), set_acl=True)


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    """Two brokers that log in to their ZooKeeper, a topic, and a user with a password."""
    directory = tmp_path_factory.mktemp("secured") / "cluster"
    with LocalCluster(directory, brokers=2, zookeeper_security=ServerSecurity(USERS)) as running:
        admin = AdminClient({"bootstrap.servers": running.bootstrap})
        admin.create_topics([NewTopic("orders", 2, 2)])["orders"].result(90)
        credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        upsertion = UserScramCredentialUpsertion("alice", credential, b"secret")
        admin.alter_user_scram_credentials([upsertion])["alice"].result(90)
        yield running


def asked(cluster, security, work, timeout_ms=60_000):
    """What ``work`` returns of a session with this security."""

    async def run():
        session = await ZooKeeperSession.connect(
            cluster.zookeeper_connect,
            session_timeout_ms=6000,
            connect_timeout_ms=timeout_ms,
            on_event=lambda _: None,
            security=security,
        )
        try:
            return await work(session)
        finally:
            await session.close()

    return asyncio.run(run())


async def acls(session, path="/"):
    """The ACL of each node of a cluster, without those that end with a session in the meantime."""
    try:
        found = {path: await session.get_acl(path)}
        names = await session.get_children(path)
    except NoNode:
        return {}
    for name in names:
        if name != "zookeeper":
            found |= await acls(session, f"{path.rstrip('/')}/{name}")
    return found


def owned_by(path, scheme, identity):
    """The ACL that a node has which a broker with this identity created."""
    return tuple(
        ZnodeAcl(entry.permissions, scheme, identity) if entry.scheme == "auth" else entry
        for entry in default_acl(path, secure=True)
    )


def test_every_node_has_the_acl_of_kafka(secured):
    found = asked(secured, BROKER, acls)
    del found["/"]  # no broker creates it
    assert found == {path: owned_by(path, "sasl", "kafka") for path in found}
    assert {"/config/users/alice", "/brokers/topics/orders/partitions/1/state", "/consumers"} <= set(found)


@pytest.mark.parametrize("security", [UNSECURED, GUEST], ids=["nobody", "guest"])
def test_who_is_no_broker_reads_no_secrets_and_changes_nothing(secured, security):
    async def intrude(session):
        for path in ("/config/users", "/config/users/alice", "/config/brokers"):
            with pytest.raises(NoAuth):
                await session.get(path)
            with pytest.raises(NoAuth):
                await session.get_children(path)
        with pytest.raises(NoAuth if security is GUEST else (NoAuth, InvalidAcl)):
            await session.create("/brokers/topics/mine")
        for path in ("/brokers/topics", "/controller_epoch", "/brokers/topics/orders"):
            with pytest.raises(NoAuth):
                await session.set(path, b"{}")
        with pytest.raises(NoAuth):
            await session.delete("/brokers/ids/1")
        assert isinstance((await session.set_acls({"/brokers": OPEN}))[0], NoAuth)
        return await session.get_children("/brokers/topics")

    assert asked(secured, security, intrude) == ["orders"]


def produced(cluster, topic="orders"):
    """Whether a record is acknowledged by all replicas in sync."""
    outcomes = []
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": cluster.bootstrap, "acks": "all", "message.timeout.ms": 60_000}
    )
    for partition in (0, 1):
        producer.produce(
            topic, b"x", partition=partition, on_delivery=lambda error, _: outcomes.append(error)
        )
    producer.flush(90)
    return outcomes == [None, None]


def test_the_cluster_serves_fails_over_and_logs_in_again(secured):
    assert produced(secured)
    lost = secured.controller_id()
    secured.kill(lost)
    wait_until(lambda: produced(secured), "records that the other broker takes")
    secured.restart(lost)
    secured.zookeeper.kill()
    secured.restart_zookeeper()
    secured.wait_ready()
    admin = AdminClient({"bootstrap.servers": secured.bootstrap})

    def is_created():
        try:
            admin.create_topics([NewTopic("after", 2, 2)], request_timeout=20)["after"].result(30)
        except confluent_kafka.KafkaException as error:
            return error.args[0].code() == confluent_kafka.KafkaError.TOPIC_ALREADY_EXISTS
        return True

    wait_until(is_created, "a topic that is created after ZooKeeper's restart")
    wait_until(lambda: produced(secured, "after"), "records in it")


def migrated(cluster, acl):
    jaas = cluster.zookeeper.directory / "jaas.conf"
    assert jaas.stat().st_mode & 0o777 == 0o600
    command = [SCRIPT, f"--zookeeper.acl={acl}", "--zookeeper.connect", cluster.zookeeper_connect]
    environment = {**os.environ, "KAFKA_OPTS": f"-Djava.security.auth.login.config={jaas}"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_migration_opens_all_nodes_and_secures_them_again(secured):
    done = migrated(secured, "unsecure")
    assert (done.returncode, done.stderr) == (0, "")
    assert set(asked(secured, UNSECURED, acls).values()) == {OPEN}
    done = migrated(secured, "secure")
    assert (done.returncode, done.stderr) == (0, "")
    found = asked(secured, BROKER, acls)
    assert found == {path: owned_by(path, "sasl", "kafka") for path in found}

    async def usurp(session):
        with pytest.raises(NoAuth):
            await session.delete("/controller_epoch")

    # The root decides who deletes it, and belongs to brokers only now. No session's end deletes it.
    asked(secured, GUEST, usurp)


def test_a_wrong_password_ends_the_start_of_a_broker(secured, tmp_path):
    with pytest.raises(ZooKeeperAuthFailed, match="wrong user or password"):
        asked(secured, ZooKeeperSecurity(Login("kafka", "wrong")), acls)
    jaas = tmp_path / "jaas.conf"
    module = "org.apache.zookeeper.server.auth.DigestLoginModule"
    jaas.write_text(f'Client {{ {module} required username="kafka" password="guessed"; }};')
    for overrides, reason in (
        ({"java.security.auth.login.config": str(jaas)}, "wrong user or password"),
        ({}, "zookeeper.set.acl is true, but"),
    ):
        overrides["zookeeper.set.acl"] = "true"
        other = LocalCluster(
            tmp_path / "other", brokers=1, overrides=overrides, zookeeper=secured.zookeeper_connect
        )
        with pytest.raises(ClusterError, match=reason) as caught:
            other.start()
        assert "guessed" not in str(caught.value) + other.brokers[1].said()


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory):
    """Two brokers that reach their ZooKeeper over TLS alone, with certificates and a login."""
    directory = tmp_path_factory.mktemp("encrypted")
    authority = Authority("ours")
    trusted = directory / "ca.pem"
    trusted.write_text(authority.text)
    issued = authority.issue("CN=broker,O=barnabas", ("127.0.0.1",))
    tls = ServerTls(issued.write_pkcs12(directory / "zk.p12", "secret"), trusted, keystore_password="secret")
    security = ServerSecurity(USERS, requires_login=True, tls=tls)
    with LocalCluster(directory / "cluster", brokers=2, zookeeper_security=security) as running:
        admin = AdminClient({"bootstrap.servers": running.bootstrap})
        admin.create_topics([NewTopic("orders", 2, 2)])["orders"].result(90)
        yield running, authority


def test_the_cluster_serves_and_fails_over_with_tls(encrypted):
    cluster, _ = encrypted
    assert produced(cluster)
    cluster.kill(cluster.controller_id())
    wait_until(lambda: produced(cluster), "records that the other broker takes")
    given = {**cluster.zookeeper.client_settings, "zookeeper.ssl.enabled.protocols": "TLSv1.3"}
    found = asked(cluster, security_of(given, {}), acls)
    identities = {(entry.scheme, entry.id) for entry in found["/brokers/topics/orders"]}
    assert identities == {("sasl", "kafka"), ("x509", "CN=broker,O=barnabas"), ("world", "anyone")}


def test_the_page_follows_it(encrypted):
    cluster, _ = encrypted
    security = security_of(cluster.zookeeper.client_settings, {})
    states = []

    async def follow():
        seen = asyncio.Event()

        def on_state(state, _now_ms):
            states.append(state)
            if state.partitions and state.brokers:
                seen.set()

        observer = Observer(cluster.zookeeper_connect, on_state, lambda _: None, security)
        following = asyncio.create_task(observer.run())
        async with asyncio.timeout(120):
            await seen.wait()
        following.cancel()
        await asyncio.wait([following])

    asyncio.run(follow())
    assert len(states[-1].partitions) >= 2


def test_nobody_else_gets_in(encrypted, tmp_path):
    cluster, authority = encrypted
    ours = cluster.zookeeper.client_settings
    other = Authority("other")
    theirs = other.issue("CN=broker,O=barnabas").write_pem(tmp_path / "theirs.pem")
    (tmp_path / "other.pem").write_text(other.text)
    own = authority.issue("CN=guest").write_pem(tmp_path / "guest.pem")
    no_login = {name: text for name, text in ours.items() if name.startswith("zookeeper.ssl")}
    no_login.pop("zookeeper.ssl.keystore.password")

    async def look(session):
        return await session.get_children("/")

    def refusal(given):
        with pytest.raises(ZooKeeperUnavailable) as caught:
            asked(cluster, security_of(given, {}), look, 1000)
        return str(caught.value)

    assert "no ZooKeeper answered" in refusal({})
    for changed, reason in (
        (no_login | {"zookeeper.ssl.keystore.location": str(theirs)}, "certificate unknown"),
        (
            ours | {"zookeeper.ssl.truststore.location": str(tmp_path / "other.pem")},
            "certificate verify failed",
        ),
    ):
        wait_until(lambda c=changed, r=reason: r in refusal(c), reason)
    guest = no_login | {"zookeeper.ssl.keystore.location": str(own)}
    with pytest.raises((RequestFailed, SessionExpired)):
        asked(cluster, security_of(guest, {}), look)
