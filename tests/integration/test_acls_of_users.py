"""ACLs of authenticated users: a super user, one with grants, and one without, by SASL PLAIN."""

from __future__ import annotations

import subprocess
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from barnabas.cluster.model.ids import BrokerId
from barnabas.local.cluster import LocalCluster
from barnabas.local.ports import any_free
from barnabas.local.waiting import wait_until
from tests.certificates import Authority

SCRIPTS = Path(__file__).parents[2] / "scripts"
ENTRY = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    'user_admin="admin-secret" user_alice="alice-secret" user_mallory="mallory-secret";'
)


@pytest.fixture(scope="module")
def listener(tmp_path_factory, new_chroot):
    """The address of a SASL listener of one broker with an authorizer."""
    directory = tmp_path_factory.mktemp("acls")
    cluster = LocalCluster(directory / "cluster", brokers=1, zookeeper=new_chroot())
    authority = Authority("brokers")
    (directory / "ca.pem").write_text(authority.text)
    own = authority.issue("CN=broker", ("127.0.0.1",)).write_pem(directory / "broker.pem")
    broker = cluster.brokers[BrokerId(1)]
    address = f"127.0.0.1:{any_free(1).brokers[0].kafka}"
    # The supervisor of the cluster waits on PLAINTEXT; ANONYMOUS has no grants there either.
    broker.own_settings |= {
        "listeners": f"PLAINTEXT://{broker.kafka},GRPC://{broker.grpc},SASL_PLAINTEXT://{address}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,GRPC:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        # Without TLS the broker would be ANONYMOUS to itself, too.
        "listener.name.grpc.ssl.keystore.type": "PEM",
        "listener.name.grpc.ssl.keystore.location": str(own),
        "listener.name.grpc.ssl.truststore.type": "PEM",
        "listener.name.grpc.ssl.truststore.location": str(directory / "ca.pem"),
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": ENTRY,
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "super.users": "User:admin;User:CN=broker",
    }
    with cluster:
        admin = AdminClient(as_user(address, "admin"))
        admin.create_topics([NewTopic("orders", 1, 1)])["orders"].result(90)
        yield {"sasl": address, "plaintext": broker.kafka}


def as_user(address, user):
    return {
        "bootstrap.servers": address,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": f"{user}-secret",
    }


def produced(settings):
    """The error of one record, or None."""
    outcome = []
    producer = confluent_kafka.Producer(settings | {"acks": "all", "retries": 0})
    producer.produce("orders", b"x", on_delivery=lambda error, _: outcome.append(error and error.name()))
    producer.flush(60)
    return outcome[0]


def test_a_grant_is_for_the_user_that_it_names(listener):
    admin = AdminClient(as_user(listener["sasl"], "admin"))
    assert produced(as_user(listener["sasl"], "admin")) is None
    for user in ("alice", "mallory"):
        assert produced(as_user(listener["sasl"], user)) == "TOPIC_AUTHORIZATION_FAILED"
    grant = AclBinding(
        ResourceType.TOPIC,
        "ord",
        ResourcePatternType.PREFIXED,
        "User:alice",
        "*",
        AclOperation.WRITE,
        AclPermissionType.ALLOW,
    )
    admin.create_acls([grant])[grant].result(60)
    wait_until(lambda: produced(as_user(listener["sasl"], "alice")) is None, "the grant in force")
    assert produced(as_user(listener["sasl"], "mallory")) == "TOPIC_AUTHORIZATION_FAILED"
    assert produced({"bootstrap.servers": listener["plaintext"]}) == "TOPIC_AUTHORIZATION_FAILED"


def test_nobody_else_changes_acls_or_sees_topics(listener):
    for settings in (as_user(listener["sasl"], "mallory"), {"bootstrap.servers": listener["plaintext"]}):
        stranger = AdminClient(settings)
        grant = AclBinding(
            ResourceType.BROKER,
            "kafka-cluster",
            ResourcePatternType.LITERAL,
            "User:mallory",
            "*",
            AclOperation.ALL,
            AclPermissionType.ALLOW,
        )
        with pytest.raises(confluent_kafka.KafkaException, match="CLUSTER_AUTHORIZATION_FAILED"):
            stranger.create_acls([grant])[grant].result(60)
        assert stranger.list_topics(timeout=60).topics == {}


@pytest.mark.parametrize(("flags", "code"), [((), 0), (("--sync",), 1)])
def test_the_console_producer_reports_at_once_that_it_may_see_a_topic_but_not_write(
    listener, tmp_path, flags, code
):
    admin = AdminClient(as_user(listener["sasl"], "admin"))
    topic = f"shown-{code}"
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(90)
    grant = AclBinding(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType.LITERAL,
        "User:alice",
        "*",
        AclOperation.DESCRIBE,
        AclPermissionType.ALLOW,
    )
    admin.create_acls([grant])[grant].result(60)
    alice = AdminClient(as_user(listener["sasl"], "alice"))
    wait_until(lambda: topic in alice.list_topics(timeout=60).topics, "the grant in force")
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    config = tmp_path / "alice.properties"
    config.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f'sasl.jaas.config={module} required username="alice" password="alice-secret";\n'
    )
    command = [
        SCRIPTS / "kafka-console-producer.sh",
        "--bootstrap-server",
        listener["sasl"],
        "--topic",
        topic,
    ]
    done = subprocess.run(
        [*command, "--producer.config", config, *flags],
        input="one\ntwo\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = done.stdout + done.stderr
    error = f"Not authorized to access topics: [{topic}]"
    assert done.returncode == code, said
    assert said.count(error) == (1 if flags else 2), said
    assert ("Error when sending message" in said) is (not flags)
