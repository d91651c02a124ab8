"""TLS on real listeners: real clients with and without certificates, refusals, SASL_SSL, and renewed keys."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import socket
import ssl
import subprocess
import time
from pathlib import Path

import aiokafka
import confluent_kafka
import confluent_kafka.admin
import kafka
import kafka.errors
import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AlterConfigOpType,
    ConfigEntry,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from barnabas.cluster.model.ids import BrokerId
from barnabas.local.cluster import LocalCluster
from barnabas.local.ports import any_free
from barnabas.local.waiting import wait_until
from tests.certificates import Authority
from tests.integration.refusals import refused_by_kafka_python
from tests.logged import logged

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
SCRIPTS = Path(__file__).parents[2] / "scripts"
HERE = ("localhost", "127.0.0.1")
DAY = dt.timedelta(days=1)
ROOT, OTHER = Authority("root"), Authority("other root")
ALICE = ROOT.issue("CN=alice,OU=people,O=example")
BOB = ROOT.issue("CN=bob,OU=people,O=example")
LISTENERS = {
    "SSL": "SSL",
    "MUTUAL": "SSL",
    "SASL_SSL": "SASL_SSL",
}


ALERTS = {None: "certificate required", "stranger": "unknown ca", "expired": "certificate expired"}
"""The alert of a broker that does not trust a client's certificate."""


class Secured:
    """One broker with listeners of several kinds of TLS, and the files of its clients."""

    def __init__(self, folder, zookeeper):
        self.folder = folder
        self.cluster = LocalCluster(folder / "cluster", brokers=1, zookeeper=zookeeper)
        self.broker = self.cluster.brokers[BrokerId(1)]
        self.addresses = {name: f"127.0.0.1:{any_free(1).brokers[0].kafka}" for name in LISTENERS}
        self.trusted = folder / "trusted.pem"
        self.trusted.write_text(ROOT.text)
        self.renewed = folder / "renewed.pem"
        for name, each in (
            ("alice", ALICE),
            ("bob", BOB),
            ("stranger", OTHER.issue("CN=alice")),
            ("expired", ROOT.issue("CN=alice,OU=people,O=example", begins=-2 * DAY, ends=-DAY)),
        ):
            each.write_pem(folder / f"{name}.pem")
        ROOT.issue("CN=broker", HERE).write_pem(self.renewed, "key-secret")
        self.broker.own_settings |= self._settings()

    def _settings(self):
        store = ROOT.issue("CN=broker", HERE).write_pkcs12(self.folder / "broker.p12", "store-secret")
        own = {}
        for name in ("ssl", "sasl_ssl"):
            prefix = f"listener.name.{name}.ssl.keystore"
            own |= {f"{prefix}.location": store, f"{prefix}.password": "store-secret"}
        own |= {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.trusted,
            "ssl.principal.mapping.rules": "RULE:^CN=bob,(.*)$/Robert,$1/,DEFAULT",
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.mutual.ssl.keystore.type": "PEM",
            "listener.name.mutual.ssl.keystore.location": self.renewed,
            "listener.name.mutual.ssl.key.password": "key-secret",
            "listener.name.sasl_ssl.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{PLAIN} required user_alice="secret";',
            "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config": f"{SCRAM} required;",
            "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
            "super.users": "User:ANONYMOUS;User:alice",
        }
        addresses = ",".join(f"{name}://{address}" for name, address in self.addresses.items())
        protocols = ",".join(f"{name}:{protocol}" for name, protocol in LISTENERS.items())
        return {name: str(value) for name, value in own.items()} | {
            "listeners": f"PLAINTEXT://{self.broker.kafka},GRPC://{self.broker.grpc},{addresses}",
            "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,GRPC:PLAINTEXT,{protocols}",
        }

    def log(self):
        return logged(self.broker.directory / "logs" / "server.log")

    def for_librdkafka(self, listener, identity=None, *, mechanism=None, password="secret"):
        settings = {
            "bootstrap.servers": self.addresses[listener],
            "security.protocol": LISTENERS[listener],
            "ssl.ca.location": str(self.trusted),
        }
        if identity is not None:
            file = str(self.folder / f"{identity}.pem")
            settings |= {"ssl.certificate.location": file, "ssl.key.location": file}
        if mechanism is not None:
            settings |= {"sasl.mechanism": mechanism, "sasl.username": "alice", "sasl.password": password}
        return settings

    def context(self, identity=None):
        context = ssl.create_default_context(cafile=self.trusted)
        if identity is not None:
            context.load_cert_chain(self.folder / f"{identity}.pem")
        return context

    def for_python(self, listener, identity=None, mechanism=None):
        settings = {
            "bootstrap_servers": self.addresses[listener],
            "security_protocol": LISTENERS[listener],
            "ssl_context": self.context(identity),
        }
        if mechanism is not None:
            settings |= {
                "sasl_mechanism": mechanism,
                "sasl_plain_username": "alice",
                "sasl_plain_password": "secret",
            }
        return settings


@pytest.fixture(scope="module")
def secured(tmp_path_factory, new_chroot):
    made = Secured(tmp_path_factory.mktemp("tls"), new_chroot())
    with made.cluster:
        admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": made.broker.kafka})
        admin.create_topics([confluent_kafka.admin.NewTopic("orders", 1, 1)])["orders"].result(90)
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        upsertion = UserScramCredentialUpsertion("alice", info, b"secret")
        admin.alter_user_scram_credentials([upsertion])["alice"].result(90)
        for user in ("CN=alice,OU=people,O=example", "Robert,OU=people,O=example"):
            operation = AclOperation.ALL if user.startswith("CN=") else AclOperation.DESCRIBE
            binding = AclBinding(
                ResourceType.TOPIC,
                "orders",
                ResourcePatternType.LITERAL,
                f"User:{user}",
                "*",
                operation,
                AclPermissionType.ALLOW,
            )
            admin.create_acls([binding])[binding].result(90)
        yield made


def sent(settings):
    """Produce a record through librdkafka; return its error, or the client's first about its security."""
    errors, outcome = [], []
    once = {"error_cb": errors.append, "message.timeout.ms": 90_000, "reconnect.backoff.ms": 10_000}
    producer = confluent_kafka.Producer({**settings, **once})
    producer.produce("orders", b"x", on_delivery=lambda error, _: outcome.append(error))
    deadline = time.monotonic() + 90
    while not outcome and time.monotonic() < deadline:
        producer.poll(0.1)
        for error in errors:
            if "SSL" in error.str() or "Authentication failed" in error.str():
                producer.purge()
                return error.str()
    assert outcome
    return None if outcome[0] is None else outcome[0].str()


@pytest.mark.parametrize(
    ("listener", "identity", "mechanism"),
    [
        ("SSL", None, None),
        ("MUTUAL", "alice", None),
        ("SASL_SSL", None, "PLAIN"),
        ("SASL_SSL", None, "SCRAM-SHA-256"),
    ],
)
class TestClients:
    def test_librdkafka_is_served(self, secured, listener, identity, mechanism):
        settings = secured.for_librdkafka(listener, identity, mechanism=mechanism)
        wait_until(lambda: sent(settings) is None, "a record acknowledged")

    def test_kafka_python_is_served(self, secured, listener, identity, mechanism):
        producer = kafka.KafkaProducer(**secured.for_python(listener, identity, mechanism))
        producer.send("orders", b"x").get(90)
        producer.close()

    async def test_aiokafka_is_served(self, secured, listener, identity, mechanism):
        settings = secured.for_python(listener, identity, mechanism)
        async with aiokafka.AIOKafkaProducer(**settings) as producer:
            await asyncio.wait_for(producer.send_and_wait("orders", b"x"), 90)


def test_records_are_read_back_encrypted(secured):
    settings = secured.for_librdkafka("SSL")
    producer = confluent_kafka.Producer(settings)
    for number in range(200):
        producer.produce("orders", bytes([number]) * 20_000, key=b"large")
    assert producer.flush(90) == 0
    consumer = confluent_kafka.Consumer({**settings, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.assign([confluent_kafka.TopicPartition("orders", 0, 0)])
    found = []

    def all_found():
        messages = consumer.consume(200, 1)
        found.extend(message.value() for message in messages if message.key() == b"large")
        return len(found) >= 200

    wait_until(all_found, "all records read")
    consumer.close()
    assert found[:200] == [bytes([number]) * 20_000 for number in range(200)]


@pytest.mark.parametrize("identity", ALERTS)
def test_a_client_without_a_trusted_certificate_is_refused(secured, identity):
    assert ALERTS[identity] in refused_by_kafka_python(secured.for_python("MUTUAL", identity))
    wait_until(lambda: "(SSL handshake failed)" in secured.log(), "the refusal in server.log")


def test_a_wrong_password_over_tls_is_refused(secured):
    told = sent(secured.for_librdkafka("SASL_SSL", mechanism="PLAIN", password="wrong"))
    assert "Authentication failed: Invalid username or password" in told


def test_acls_name_the_subject_of_a_certificate(secured):
    wait_until(lambda: sent(secured.for_librdkafka("MUTUAL", "alice")) is None, "alice may write")
    assert "authorization failed" in sent(secured.for_librdkafka("MUTUAL", "bob")).lower()
    denied = "Principal = User:Robert,OU=people,O=example is Denied Operation = Write from host = 127.0.0.1"
    log = secured.broker.directory / "logs" / "kafka-authorizer.log"
    wait_until(lambda: denied in logged(log), "the denial in kafka-authorizer.log")


def test_a_client_without_tls_is_closed(secured):
    host, _, port = secured.addresses["SSL"].partition(":")
    with socket.create_connection((host, int(port)), timeout=90) as raw:
        raw.sendall(bytes.fromhex("0000000a0012000000000001ffff"))
        with contextlib.suppress(ConnectionResetError):
            assert len(raw.recv(100)) < 100
    wait_until(lambda: "(SSL handshake failed)" in secured.log(), "the refusal in server.log")


def serial_of(secured, listener):
    """The number of the certificate that a listener shows to a new connection."""
    host, _, port = secured.addresses[listener].partition(":")
    context = secured.context("alice")
    with (
        socket.create_connection((host, int(port)), timeout=90) as raw,
        context.wrap_socket(raw, server_hostname=host) as secure,
    ):
        return int(secure.getpeercert()["serialNumber"], 16)


def test_a_renewed_certificate_is_taken_while_clients_stay(secured):
    producer = confluent_kafka.Producer(secured.for_librdkafka("MUTUAL", "alice"))
    renewed = ROOT.issue("CN=broker", (*HERE, "new.example"))
    assert serial_of(secured, "MUTUAL") != renewed.certificate.serial_number
    secured.renewed.with_suffix(".new").write_text(renewed.key_text("key-secret") + renewed.chain())
    secured.renewed.with_suffix(".new").replace(secured.renewed)
    wait_until(
        lambda: serial_of(secured, "MUTUAL") == renewed.certificate.serial_number, "the renewed certificate"
    )
    outcome = []
    producer.produce("orders", b"x", on_delivery=lambda error, _: outcome.append(error))
    assert producer.flush(90) == 0
    assert outcome == [None]


def altered(secured, name, value):
    """Set a setting of the broker; return the error."""
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": secured.broker.kafka})
    kind = confluent_kafka.admin.ConfigResource.Type.BROKER
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = confluent_kafka.admin.ConfigResource(kind, "1", incremental_configs=[entry])
    try:
        admin.incremental_alter_configs([resource])[resource].result(90)
    except confluent_kafka.KafkaException as error:
        return error.args[0].str()
    return None


def test_a_key_store_is_exchanged_by_a_setting(secured):
    name = "listener.name.ssl.ssl.keystore.location"
    renewed = ROOT.issue("CN=broker", HERE)
    file = renewed.write_pkcs12(secured.folder / "renewed.p12", "store-secret")
    assert altered(secured, name, str(file)) is None
    wait_until(
        lambda: serial_of(secured, "SSL") == renewed.certificate.serial_number, "the renewed certificate"
    )
    stranger = ROOT.issue("CN=other", HERE).write_pkcs12(secured.folder / "stranger.p12", "store-secret")
    assert "not for CN=broker as that in use" in altered(secured, name, str(stranger))
    assert "a file that can be read" in altered(secured, name, "/nowhere")
    refused = altered(secured, "listener.name.ssl.ssl.keystore.password", "never-stored")
    assert "password.encoder.secret" in refused
    assert serial_of(secured, "SSL") == renewed.certificate.serial_number


def test_tools_take_java_s_properties(secured):
    file = secured.folder / "tool.properties"
    store = ALICE.write_pkcs12(secured.folder / "alice.p12", "client-secret")
    file.write_text(
        f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={secured.trusted}\n"
        f"ssl.keystore.location={store}\nssl.keystore.password=client-secret\n"
    )
    at = ("--bootstrap-server", secured.addresses["MUTUAL"])

    def tool(name, *arguments, given=None):
        command = [SCRIPTS / name, *at, *arguments]
        ended = subprocess.run(command, input=given, capture_output=True, text=True, timeout=120, check=False)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    assert "orders" in tool("kafka-topics.sh", "--command-config", file, "--list").split()
    tool("kafka-console-producer.sh", "--topic", "orders", "--producer.config", file, given="hello\n")


def test_no_secret_is_shown(secured):
    command = [SCRIPTS / "kafka-configs.sh", "--bootstrap-server", secured.broker.kafka]
    command += ["--describe", "--all", "--entity-type", "brokers", "--entity-name", "1"]
    described = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    assert "ssl.keystore.type=" in described
    shown = secured.log() + described
    for hidden in ("store-secret", "key-secret", "PRIVATE KEY", "user_alice"):
        assert hidden not in shown
