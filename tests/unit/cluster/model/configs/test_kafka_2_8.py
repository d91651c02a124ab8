"""Our declarations against Kafka 2.8.2.

``kafka_2_8.psv`` has for each setting the type and the default that the release declares, and which texts it
accepted and refused when it was run: for a topic ``LogConfig.validate``, for a broker
``KafkaConfig.fromProps`` and the ``LogConfig`` made of it. ``''`` is the empty text.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from barnabas.broker.config.broker_config import parse
from barnabas.cluster.model.configs.broker import BROKER_CONFIGS
from barnabas.cluster.model.configs.declarations import Config, ConfigError, read, with_defaults
from barnabas.cluster.model.configs.topic import TOPIC_CONFIGS, parse_topic, resolve

EMPTY = "''"

OTHERWISE_HERE = {
    # Zero or a negative number means nothing to these; Kafka accepts it and fails later.
    "controlled.shutdown.max.retries",
    "controlled.shutdown.retry.backoff.ms",
    "controller.socket.timeout.ms",
    "default.replication.factor",
    "delete.records.purgatory.purge.interval.requests",
    "fetch.purgatory.purge.interval.requests",
    "group.initial.rebalance.delay.ms",
    "group.max.session.timeout.ms",
    "group.min.session.timeout.ms",
    "leader.imbalance.check.interval.seconds",
    "leader.imbalance.per.broker.percentage",
    "log.flush.scheduler.interval.ms",
    "num.replica.fetchers",
    "offset.metadata.max.bytes",
    "producer.purgatory.purge.interval.requests",
    "replica.fetch.min.bytes",
    "replica.fetch.wait.max.ms",
    "replica.high.watermark.checkpoint.interval.ms",
    "replica.socket.receive.buffer.bytes",
    "request.timeout.ms",
    "socket.receive.buffer.bytes",
    "socket.send.buffer.bytes",
    "zookeeper.connection.timeout.ms",
    "zookeeper.session.timeout.ms",
    # Not served: another protocol between brokers, classes by name, old message formats, revocation lists.
    "inter.broker.protocol.version",
    "replica.selector.class",
    "sasl.server.callback.handler.class",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
    "ssl.protocol",
    "zookeeper.ssl.crl.enable",
    "zookeeper.ssl.enabled.protocols",
    "zookeeper.ssl.ocsp.enable",
    "zookeeper.ssl.protocol",
    # The versions of later releases are accepted: a cluster that Kafka has left may have them.
    "log.message.format.version",
    "message.format.version",
    # Accepted here: no thread cleans; connections close at once. Kafka checks the delay even without SASL.
    "log.cleaner.threads",
    "connection.failed.authentication.delay.ms",
    "connections.max.idle.ms",
}
"""Settings whose values are not exactly Kafka's."""

OTHER_DEFAULTS = {
    "inter.broker.listener.name",
    "inter.broker.protocol.version",
    "listener.security.protocol.map",
    "listeners",
    "log.message.format.version",
    "message.format.version",
    "security.inter.broker.protocol",
    "zookeeper.connect",
}
"""Brokers talk over gRPC, in the protocol of 2.6, and must know their ZooKeeper."""

KAFKA_LACKS = {"allow.everyone.if.no.acl.found", "super.users"}
"""Settings that no table of Kafka 2.8 declares, besides ours: its authorizer reads them itself."""


class Declared(NamedTuple):
    scope: str
    name: str
    type: str
    default: str
    accepted: str
    refused: str

    @property
    def ours(self) -> Config:
        return (TOPIC_CONFIGS if self.scope == "topic" else BROKER_CONFIGS)[self.name]

    def verdicts(self) -> dict[str, bool]:
        """Return whether Kafka accepts each text; an empty one of a broker mostly counts as none here."""
        known = dict.fromkeys(self.accepted.split(), True) | dict.fromkeys(self.refused.split(), False)
        if self.scope == "broker" and self.name != "log.cleanup.policy":
            known.pop(EMPTY, None)
        return known

    def is_accepted_here(self, text: str) -> bool:
        given = {self.name: text.replace(EMPTY, "")}
        try:
            if self.scope == "topic":
                parse_topic(given)
            else:
                parse({"zookeeper.connect": "z:1", **given})
        except ConfigError:
            return False
        return True


TABLE = Path(__file__).with_name("kafka_2_8.psv").read_text(encoding="utf-8")
DECLARED = [Declared(*line.split("|")) for line in TABLE.splitlines()]

by_setting = pytest.mark.parametrize("kafkas", DECLARED, ids=lambda each: f"{each.scope}-{each.name}")


def test_the_table_has_all_settings_of_ours_that_2_8_has():
    assert {each.name for each in DECLARED if each.scope == "topic"} == TOPIC_CONFIGS.keys()
    later = {name for name in BROKER_CONFIGS if name.startswith("sasl.oauthbearer.")}  # KIP-768
    ours = {name for name, config in BROKER_CONFIGS.items() if not config.ours}
    assert {each.name for each in DECLARED if each.scope == "broker"} == ours - later - KAFKA_LACKS


@by_setting
def test_values_are_accepted_and_refused_as_by_kafka(kafkas):
    expected = kafkas.verdicts()
    ours = {text: kafkas.is_accepted_here(text) for text in expected}
    assert (ours == expected) is (kafkas.name not in OTHERWISE_HERE), ours


@by_setting
def test_types_and_defaults_are_kafkas(kafkas):
    ours = kafkas.ours
    assert ours.kafka_type.name == kafkas.type.replace("CLASS", "STRING")
    default = ours.default
    if kafkas.scope == "topic":
        default = resolve(with_defaults(BROKER_CONFIGS, {"zookeeper.connect": "z"}), {})[kafkas.name]
    expected = None if kafkas.default == "null" else read(ours.type, kafkas.default)
    assert (default == expected) is (kafkas.name not in OTHER_DEFAULTS)
