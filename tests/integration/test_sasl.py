"""SASL on real listeners: real clients with each mechanism, refusals, and no secret that shows."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import aiokafka
import aiokafka.abc
import confluent_kafka
import confluent_kafka.admin
import jwt
import kafka
import kafka.errors
import kafka.net.sasl.oauth
import pytest
from confluent_kafka.admin import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from cryptography.hazmat.primitives.asymmetric import ed25519
from kazoo.client import KazooClient

from barnabas.cluster.model.ids import BrokerId
from barnabas.local.cluster import LocalCluster
from barnabas.local.ports import any_free
from barnabas.local.waiting import wait_until
from tests.integration.hostile_requests import LAST_API_VERSIONS
from tests.integration.records import delivery_error
from tests.integration.refusals import refused_by_aiokafka, refused_by_kafka_python
from tests.logged import logged

SCRIPTS = Path(__file__).parents[2] / "scripts"
MODULES = "org.apache.kafka.common.security"
PASSWORD, NEW_PASSWORD = "alice,s=secret", "quite-another"
WRONG = "never-this-one"
TOKEN_HEAD = "eyJ"
"""The begin of a JSON object in base64, and so of every token."""
DELAY_MS = 400
ED25519 = ed25519.Ed25519PrivateKey.generate()


@pytest.fixture(scope="module")
def secured(tmp_path_factory, new_chroot):
    """One broker with two SASL listeners, by name; passwords are in its settings alone."""
    directory = tmp_path_factory.mktemp("sasl") / "cluster"
    cluster = LocalCluster(directory, brokers=1, zookeeper=new_chroot())
    broker = cluster.brokers[BrokerId(1)]
    plain, scram = (f"127.0.0.1:{any_free(1).brokers[0].kafka}" for _ in range(2))
    entry = f'{MODULES}.plain.PlainLoginModule required user_alice="{PASSWORD}";'
    token_entry = f"{MODULES}.oauthbearer.OAuthBearerLoginModule required"
    keys = tmp_path_factory.mktemp("keys") / "keys.json"
    keys.write_text(
        json.dumps(
            {
                "keys": [
                    {**jwt.algorithms.OKPAlgorithm.to_jwk(ED25519.public_key(), as_dict=True), "kid": "k1"}
                ]
            }
        )
    )
    scram_entry = f"{MODULES}.scram.ScramLoginModule required;"
    again = "listener.name.external.scram-sha-256.connections.max.reauth.ms"
    broker.own_settings |= {
        "listeners": f"PLAINTEXT://{broker.kafka},GRPC://{broker.grpc},"
        f"SASL_PLAINTEXT://{plain},EXTERNAL://{scram}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,GRPC:PLAINTEXT,"
        "SASL_PLAINTEXT:SASL_PLAINTEXT,EXTERNAL:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": entry,
        "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": f"{token_entry}"
        ' unsecuredValidatorRequiredScope="kafka";',
        "listener.name.external.sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        "listener.name.external.oauthbearer.sasl.jaas.config": f"{token_entry};",
        "listener.name.external.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        "listener.name.external.oauthbearer.sasl.oauthbearer.expected.audience": "kafka",
        "listener.name.external.oauthbearer.connections.max.reauth.ms": "3000",
        "listener.name.external.scram-sha-256.sasl.jaas.config": scram_entry,
        "listener.name.external.scram-sha-512.sasl.jaas.config": scram_entry,
        again: "3000",
        "connection.failed.authentication.delay.ms": str(DELAY_MS),
    }
    with cluster:
        credential(broker.kafka, "alice", PASSWORD, ScramMechanism.SCRAM_SHA_256)
        credential(broker.kafka, "alice", PASSWORD, ScramMechanism.SCRAM_SHA_512)
        admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": broker.kafka})
        admin.create_topics([confluent_kafka.admin.NewTopic("orders", 1, 1)])["orders"].result(90)
        yield {
            "PLAIN": plain,
            "UNSECURED": plain,
            "SCRAM-SHA-256": scram,
            "SCRAM-SHA-512": scram,
            "SIGNED": scram,
            "broker": broker,
            "cluster": cluster,
        }


def credential(bootstrap, user, password, mechanism):
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": bootstrap})
    upsertion = UserScramCredentialUpsertion(user, ScramCredentialInfo(mechanism, 4096), password.encode())
    admin.alter_user_scram_credentials([upsertion])[user].result(90)


MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def for_librdkafka(secured, mechanism, password=PASSWORD):
    return {
        "bootstrap.servers": secured[mechanism],
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": "alice",
        "sasl.password": password,
    }


def for_python(secured, mechanism, password=PASSWORD):
    return {
        "bootstrap_servers": secured[mechanism],
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "alice",
        "sasl_plain_password": password,
    }


def token(kind, lifetime_s=300, **claims):
    """A token as an issuer makes it, signed or unsecured."""
    now = int(time.time())
    claims = {"sub": "alice", "aud": "kafka", "scope": "kafka", "iat": now, "exp": now + lifetime_s, **claims}
    if kind == "SIGNED":
        return jwt.encode(claims, ED25519, "EdDSA", headers={"kid": "k1"})
    return jwt.encode(claims, None, "none")


class SyncProvider(kafka.net.sasl.oauth.AbstractTokenProvider):
    """As a user of kafka-python writes it."""

    def __init__(self, kind, **claims):
        super().__init__()
        self.kind, self.claims = kind, claims

    def token(self):
        return token(self.kind, **self.claims)


class AsyncProvider(aiokafka.abc.AbstractTokenProvider):
    """As a user of aiokafka writes it."""

    def __init__(self, kind, **claims):
        self.kind, self.claims = kind, claims

    async def token(self):
        return token(self.kind, **self.claims)


def tokens_for_librdkafka(secured, kind, **claims):
    return {
        "bootstrap.servers": secured[kind],
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": lambda _: (token(kind, **claims), time.time() + 300),
    }


def tokens_for_python(secured, kind, provider):
    return {
        "bootstrap_servers": secured[kind],
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauth_token_provider": provider,
    }


def listed(settings):
    """The topics that a client of librdkafka sees, or the first error that it is told."""
    errors = []
    admin = confluent_kafka.admin.AdminClient({**settings, "error_cb": errors.append})
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        try:
            return set(admin.list_topics(timeout=1).topics)
        except confluent_kafka.KafkaException:
            admin.poll(0)
            told = [error for error in errors if error.code() == confluent_kafka.KafkaError._AUTHENTICATION]
            if told:
                return told[0].str()
    raise AssertionError(f"no answer: {errors}")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_librdkafka_logs_in_by_the_right_password_alone(secured, mechanism):
    # It works beyond the first connection, so Metadata names the listener that it came on.
    settings = for_librdkafka(secured, mechanism)
    wait_until(lambda: "orders" in listed(settings), "orders seen")
    assert delivery_error(settings["bootstrap.servers"], "orders", **settings) is None
    told = listed(for_librdkafka(secured, mechanism, WRONG))
    if mechanism == "PLAIN":
        assert "Authentication failed: Invalid username or password" in told
    else:
        expected = f"due to invalid credentials with SASL mechanism {mechanism}"
        assert f"Authentication failed during authentication {expected}" in told


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python_logs_in_by_the_right_password_alone(secured, mechanism):
    producer = kafka.KafkaProducer(**for_python(secured, mechanism))
    producer.send("orders", b"x").get(90)
    producer.close()
    refused_by_kafka_python(for_python(secured, mechanism, WRONG))


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_aiokafka_logs_in_by_the_right_password_alone(secured, mechanism):
    async with aiokafka.AIOKafkaProducer(**for_python(secured, mechanism)) as producer:
        await asyncio.wait_for(producer.send_and_wait("orders", b"x"), 90)
    told = await refused_by_aiokafka(for_python(secured, mechanism, WRONG))
    expected = "Invalid username or password" if mechanism == "PLAIN" else "invalid credentials"
    assert expected in told


KINDS = ("UNSECURED", "SIGNED")


@pytest.mark.parametrize("kind", KINDS)
def test_librdkafka_logs_in_with_a_token(secured, kind):
    wait_until(lambda: "orders" in listed(tokens_for_librdkafka(secured, kind)), "orders seen")


@pytest.mark.parametrize("kind", KINDS)
def test_librdkafka_is_refused_with_a_bad_token(secured, kind):
    assert "invalid_token" in listed(tokens_for_librdkafka(secured, kind, exp=int(time.time()) - 100))


def test_a_token_without_the_scope_is_told_so(secured):
    told = listed(tokens_for_librdkafka(secured, "UNSECURED", scope="other"))
    assert '{"status":"insufficient_scope", "scope":"[kafka]"}' in told


def test_a_token_of_another_kind_is_refused(secured):
    unsigned = {**tokens_for_librdkafka(secured, "UNSECURED"), "bootstrap.servers": secured["SIGNED"]}
    assert "invalid_token" in listed(unsigned)
    for_others = tokens_for_librdkafka(secured, "SIGNED", aud="other")
    assert "invalid_token" in listed(for_others)


@pytest.mark.parametrize("kind", KINDS)
def test_kafka_python_logs_in_with_a_token(secured, kind):
    producer = kafka.KafkaProducer(**tokens_for_python(secured, kind, SyncProvider(kind)))
    producer.send("orders", b"x").get(90)
    producer.close()
    refused_by_kafka_python(tokens_for_python(secured, kind, SyncProvider(kind, exp=1)))


@pytest.mark.parametrize("kind", KINDS)
async def test_aiokafka_logs_in_with_a_token(secured, kind):
    settings = tokens_for_python(secured, kind, AsyncProvider(kind))
    async with aiokafka.AIOKafkaProducer(**settings) as producer:
        await asyncio.wait_for(producer.send_and_wait("orders", b"x"), 90)
    # It takes the error for a success, and goes on with Metadata.
    told = await refused_by_aiokafka(tokens_for_python(secured, kind, AsyncProvider(kind, exp=1)))
    assert f"Connection at {secured[kind]} closed" in told


async def test_a_session_is_renewed(secured):
    """The session of SCRAM-SHA-256 lasts 3 s: librdkafka authenticates again on the same connection."""
    log = secured["broker"].directory / "logs" / "server.log"
    producer = confluent_kafka.Producer(for_librdkafka(secured, "SCRAM-SHA-256"))
    deadline, outcome = time.monotonic() + 8, []
    while time.monotonic() < deadline:
        producer.produce("orders", b"x", on_delivery=lambda error, _: outcome.append(error))
        producer.flush(60)
        await asyncio.sleep(0.1)
    assert set(outcome) == {None}
    assert "the session has expired" not in logged(log)


def run_tool(name, bootstrap, *arguments):
    """The output of a tool of Kafka."""
    command = [SCRIPTS / name, "--bootstrap-server", bootstrap, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_tool_logs_in_with_the_properties_of_java_s_clients(secured, tmp_path):
    entry = f'{MODULES}.scram.ScramLoginModule required username="alice" password="{PASSWORD}";'
    (tmp_path / "client.properties").write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\nsasl.jaas.config={entry}\n"
    )
    listing = ("--list", "--command-config", str(tmp_path / "client.properties"))
    assert "orders" in run_tool("kafka-topics.sh", secured["SCRAM-SHA-512"], *listing)


def are_served(bootstrap, source, count):
    """For each of some connections at once from an address of this machine, whether it is answered."""
    host, _, port = bootstrap.rpartition(":")
    address, own = (host, int(port)), (source, 0)
    opened = [socket.create_connection(address, timeout=90, source_address=own) for _ in range(count)]
    served = []
    for connection in opened:
        with contextlib.suppress(ConnectionError):
            connection.sendall(LAST_API_VERSIONS)
        try:
            served.append(connection.recv(1) != b"")
        except ConnectionError:
            served.append(False)
    for connection in opened:
        connection.close()
    return served


def test_limits_of_addresses_and_listeners_count_at_once(secured):
    plaintext = secured["broker"].kafka
    few, fast = "127.0.0.3", "127.0.0.2"
    assert are_served(plaintext, few, 2) == [True, True]

    def set_to(added, *entity):
        run_tool("kafka-configs.sh", plaintext, "--alter", "--add-config", added, *entity)

    set_to("connection_creation_rate=1", "--entity-type", "ips", "--entity-name", fast)
    set_to(
        f"max.connections.per.ip.overrides=[{few}:1],listener.name.external.max.connections=1000",
        *("--entity-type", "brokers", "--entity-name", "1"),
    )
    wait_until(lambda: are_served(plaintext, few, 2) == [True, False], "one connection at a time")
    # In any 11 seconds there are 10 connections at least.
    wait_until(lambda: not all(are_served(plaintext, fast, 20)), "no more connections a second")
    assert all(are_served(plaintext, "127.0.0.1", 20))


def test_a_deleted_and_a_new_credential_count_at_once(secured):
    def configs(*arguments):
        return run_tool("kafka-configs.sh", secured["broker"].kafka, *arguments)

    of_carol = ("--entity-type", "users", "--entity-name", "carol")
    added = f"SCRAM-SHA-256=[iterations=8192,password={NEW_PASSWORD}]"
    assert (
        configs("--alter", "--add-config", added, *of_carol) == "Completed updating config for user carol.\n"
    )
    expected = "SCRAM credential configs for user-principal 'carol' are SCRAM-SHA-256=iterations=8192\n"
    assert configs("--describe", *of_carol) == expected
    carol = {**for_librdkafka(secured, "SCRAM-SHA-256", NEW_PASSWORD), "sasl.username": "carol"}
    wait_until(lambda: "orders" in listed(carol), "carol let in")
    configs("--alter", "--delete-config", "SCRAM-SHA-256", *of_carol)
    assert configs("--describe", *of_carol) == ""
    wait_until(lambda: "invalid credentials" in str(listed(carol)), "carol refused")


def told_of(action):
    """The errors of an alteration that is refused."""
    refused = []
    for future in action.values():
        with pytest.raises(confluent_kafka.KafkaException) as error:
            future.result(90)
        refused.append(str(error.value))
    return " ".join(refused)


def stored_secrets(cluster, user):
    """The salts and keys of a user, as ZooKeeper has them."""
    client = KazooClient(cluster.zookeeper_connect, timeout=30)
    client.start(90)
    try:
        config = json.loads(client.get(f"/config/users/{user}")[0])["config"]
    finally:
        client.stop()
        client.close()
    parts = [part.partition("=")[2] for text in config.values() for part in text.split(",")]
    return [part for part in parts if not part.isdigit()]


def test_no_secret_is_shown(secured):
    broker, kind = secured["broker"], confluent_kafka.admin.ConfigResource.Type.BROKER
    plaintext = {"bootstrap.servers": broker.kafka}
    for settings in (
        for_librdkafka(secured, "PLAIN", WRONG),
        for_librdkafka(secured, "SCRAM-SHA-256", WRONG),
        tokens_for_librdkafka(secured, "SIGNED", exp=1),
    ):
        assert WRONG not in listed(settings)
    listed(for_librdkafka(secured, "PLAIN"))
    listed(tokens_for_librdkafka(secured, "SIGNED"))
    admin = confluent_kafka.admin.AdminClient(plaintext)
    shown = []
    own = confluent_kafka.admin.ConfigResource(kind, "1")
    found = admin.describe_configs([own])[own].result(90)
    for name in ("sasl_plaintext.plain", "external.oauthbearer", "external.scram-sha-256"):
        secret = found[f"listener.name.{name}.sasl.jaas.config"]
        assert (secret.value, secret.is_sensitive) == (None, True)
        assert all(synonym.value is None for synonym in secret.synonyms.values())
    shown += [str(entry.value) + str([*map(vars, entry.synonyms.values())]) for entry in found.values()]
    for name in ("listener.name.sasl_plaintext.plain.sasl.jaas.config", "sasl.jaas.config"):
        change = confluent_kafka.admin.ConfigEntry(
            name,
            f'{MODULES}.plain.PlainLoginModule required user_alice="{NEW_PASSWORD}";',
            incremental_operation=confluent_kafka.admin.AlterConfigOpType.SET,
        )
        asked = confluent_kafka.admin.ConfigResource(kind, "1", incremental_configs=[change])
        shown.append(told_of(admin.incremental_alter_configs([asked])))
    few = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 1)
    bad = UserScramCredentialUpsertion("alice", few, NEW_PASSWORD.encode(), b"salt-of-alice")
    shown.append(told_of(admin.alter_user_scram_credentials([bad])))
    with urllib.request.urlopen(f"http://{broker.metrics}/metrics", timeout=90) as page:
        metrics = page.read().decode()
    assert 'socket_server_metrics_failed_authentication_total{listener="EXTERNAL"}' in metrics
    files = [
        path for path in broker.directory.rglob("*") if path.is_file() and path.name != "server.properties"
    ]
    logs = b"".join(path.read_bytes() for path in files).decode(errors="replace")
    assert "Failed authentication with 127.0.0.1" in logs
    keys = stored_secrets(secured["cluster"], "alice")
    assert len(keys) == 6
    everything = "".join((*shown, metrics, logs))
    for hidden in (
        PASSWORD,
        NEW_PASSWORD,
        WRONG,
        "salt-of-alice",
        "stored_key",
        "user_alice",
        TOKEN_HEAD,
        *keys,
    ):
        assert hidden not in everything
