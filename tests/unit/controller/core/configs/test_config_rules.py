from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.commands.configs import (
    ConfigAlteration,
    ConfigOperation,
    ConfigResource,
    ConfigResourceType,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.controller.core.configs.config_rules import ConfigRefusedError, altered, check, subtracted

TOPIC = ConfigResource(ConfigResourceType.TOPIC, "t")
BROKER = ConfigResource(ConfigResourceType.BROKER, "1")
ALL_BROKERS = ConfigResource(ConfigResourceType.BROKER, "")
SET, DELETE, APPEND, SUBTRACT = ConfigOperation

THROTTLED = "leader.replication.throttled.replicas"


def alter(settings_, *steps, resource=TOPIC):
    return altered(resource, settings_, [ConfigAlteration(*step) for step in steps])


def test_what_is_set_replaces_and_what_is_deleted_goes():
    before = {"retention.ms": "1", "segment.ms": "2"}
    steps = (("retention.ms", SET, "5"), ("segment.ms", DELETE), ("flush.ms", SET, "9"))
    assert alter(before, *steps) == {"retention.ms": "5", "flush.ms": "9"}
    assert before == {"retention.ms": "1", "segment.ms": "2"}


def test_deleting_what_is_not_there_changes_nothing():
    assert alter({"flush.ms": "9"}, ("retention.ms", DELETE)) == {"flush.ms": "9"}


def test_a_list_that_is_not_set_is_altered_from_its_default():
    assert alter({}, ("cleanup.policy", APPEND, "compact")) == {"cleanup.policy": "delete,compact"}
    assert alter({}, ("cleanup.policy", SUBTRACT, "delete")) == {"cleanup.policy": ""}
    assert alter({}, (THROTTLED, APPEND, "0:1")) == {THROTTLED: "0:1"}


items = st.sampled_from(["0:1", "0:2", "1:1", "2:3"])
lists = st.lists(items, max_size=5)


@given(lists, st.lists(st.tuples(st.sampled_from([APPEND, SUBTRACT]), lists), max_size=4))
def test_lists_are_altered_as_multisets_in_order(start, steps):
    """The slow model counts; the order is that of arrival, with the earliest subtracted first."""
    counts = Counter(start)
    for operation, some in steps:
        counts = counts + Counter(some) if operation is APPEND else counts - Counter(some)
    alterations = [(THROTTLED, operation, ",".join(some)) for operation, some in steps]
    result = alter({THROTTLED: ",".join(start)}, *alterations)[THROTTLED]
    assert Counter(result.split(",") if result else []) == counts


class Compared:
    """An item of a list that counts how often any is compared with another one."""

    comparisons = 0

    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return self.number

    def __eq__(self, other):
        Compared.comparisons += 1
        return self.number == other.number


def test_what_is_subtracted_is_looked_up_and_not_searched():
    """25,000 items taken from 80,000 were two billion comparisons, in one turn of the controller's loop."""
    Compared.comparisons = 0
    items, taken = (
        [Compared(number) for number in range(300)],
        [Compared(number) for number in range(200, 500)],
    )
    assert [item.number for item in subtracted(items, taken)] == list(range(200))
    assert Compared.comparisons <= len(items) + len(taken)


@pytest.mark.parametrize("operation", [APPEND, SUBTRACT])
def test_only_lists_are_appended_to_and_subtracted_from(operation):
    with pytest.raises(ConfigRefusedError, match=r"not allowed for config key: retention\.ms") as refusal:
        alter({}, ("retention.ms", operation, "5"))
    assert refusal.value.error is ErrorCode.INVALID_REQUEST
    with pytest.raises(ConfigRefusedError, match="Unknown topic config name: colour") as refusal:
        alter({}, ("colour", operation, "red"))
    assert refusal.value.error is ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize(
    ("resource", "own", "error", "says"),
    [
        (TOPIC, {"colour": "red"}, ErrorCode.INVALID_CONFIG, "Unknown topic config name: colour"),
        (
            TOPIC,
            {"retention.ms": "long"},
            ErrorCode.INVALID_REQUEST,
            "Invalid value long for configuration retention.ms",
        ),
        (TOPIC, {"min.insync.replicas": "0"}, ErrorCode.INVALID_REQUEST, "at least 1"),
        (
            TOPIC,
            {"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "8"},
            ErrorCode.INVALID_CONFIG,
            r"min.compaction.lag.ms \(9\) > max.compaction.lag.ms \(8\)",
        ),
        (TOPIC, {"message.format.version": "0.9.0"}, ErrorCode.INVALID_CONFIG, "only message format 2"),
        (TOPIC, {"message.format.version": "new"}, ErrorCode.INVALID_REQUEST, "a release, such as"),
        (TOPIC._replace(name="bad name"), {}, ErrorCode.INVALID_TOPIC_EXCEPTION, "bad name"),
        (BROKER, {"log.dirs": "/x"}, ErrorCode.INVALID_REQUEST, "Cannot update these configs dynamically"),
        (BROKER, {"message.max.bytes": "-1"}, ErrorCode.INVALID_REQUEST, "message.max.bytes"),
        (BROKER, {"listeners": "A://:1"}, ErrorCode.INVALID_REQUEST, "at its start alone: listeners"),
        (
            BROKER,
            {"listener.name.a.plain.sasl.jaas.config": "secret"},
            ErrorCode.INVALID_REQUEST,
            "at its start alone: listener.name.a.plain.sasl.jaas.config",
        ),
        (
            BROKER,
            {"listener.name.a.max.connections": "0"},
            ErrorCode.INVALID_REQUEST,
            "listener.name.a.max.connections",
        ),
        (
            BROKER,
            {
                "listener.name.a.ssl.keystore.location": "/x",
                "listener.name.a.ssl.keystore.password": "secret",
            },
            ErrorCode.INVALID_REQUEST,
            "has no password.encoder.secret to encrypt these configs: listener.name.a.ssl.keystore.password$",
        ),
        (
            ALL_BROKERS,
            {"listener.name.a.ssl.truststore.location": "/x"},
            ErrorCode.INVALID_REQUEST,
            "broker id must be specified: listener.name.a.ssl.truststore.location",
        ),
        (
            BROKER,
            {"listener.name.a.ssl.client.auth": "none"},
            ErrorCode.INVALID_REQUEST,
            "at its start alone: listener.name.a.ssl.client.auth",
        ),
        (
            BROKER,
            {"max.connections.per.ip.overrides": "host:1"},
            ErrorCode.INVALID_REQUEST,
            "max.connections.per.ip.overrides",
        ),
        (BROKER, {"sasl.jaas.config": "secret"}, ErrorCode.INVALID_REQUEST, "dynamically: sasl.jaas.config"),
        (ALL_BROKERS, {"listeners": "A://:1"}, ErrorCode.INVALID_REQUEST, "broker id must be specified"),
        (ALL_BROKERS, {"broker.id": "7"}, ErrorCode.INVALID_REQUEST, "dynamically: broker.id"),
    ],
)
def test_what_may_not_be_set(resource, own, error, says):
    with pytest.raises(ConfigRefusedError, match=says) as refusal:
        check(resource, own)
    assert refusal.value.error is error


def test_a_bad_value_names_the_resource():
    with pytest.raises(ConfigRefusedError) as refusal:
        check(BROKER, {"min.insync.replicas": "none"})
    assert str(refusal.value).startswith(
        "Invalid config value for resource ConfigResource(type=BROKER, name='1'): "
        "Invalid value none for configuration min.insync.replicas: Value must be "
    )


def test_what_may_be_set():
    check(TOPIC, {"min.insync.replicas": "2", "cleanup.policy": "compact,delete"})
    check(TOPIC, alter({"retention.bytes": "-5"}, ("cleanup.policy", SUBTRACT, "delete")))
    check(BROKER, {"log.cleanup.policy": "compact"})
    check(BROKER, {"log.retention.ms": "5", "unclean.leader.election.enable": "true"})
    check(ALL_BROKERS, {"max.connections": "100", "a.plugins.own": "x"})
    check(
        BROKER, {"listener.name.a.max.connections": "5", "listener.name.a.max.connection.creation.rate": "5"}
    )
    check(BROKER, {"listener.name.a.ssl.keystore.location": "/x", "listener.name.a.ssl.keystore.type": "PEM"})
    check(ALL_BROKERS, {"max.connections.per.ip.overrides": "10.0.0.1:5", "max.connections.per.ip": "0"})


def test_what_is_not_served_stays_where_it_stands_already():
    old = {"message.format.version": "0.10.2"}
    check(TOPIC, {**old, "retention.ms": "5"}, old)
    for asked, standing in (({"message.format.version": "0.9.0"}, old), (old, None)):
        with pytest.raises(ConfigRefusedError, match="only message format 2") as refusal:
            check(TOPIC, asked, standing)
        assert refusal.value.error is ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize("resource", [TOPIC, BROKER, ALL_BROKERS])
def test_settings_that_zookeeper_would_refuse_are_refused(resource):
    own = {f"x.{number}": "a" * 30_000 for number in range(31)}
    if resource is TOPIC:
        own = {THROTTLED: ",".join(f"{number}:1" for number in range(130_000))}
    with pytest.raises(
        ConfigRefusedError, match=r"Settings take \d{6,7} bytes, expected at most 900000"
    ) as refused:
        check(resource, own)
    assert refused.value.error is ErrorCode.INVALID_REQUEST
    assert len(str(refused.value)) < 200
