import pytest

from barnabas.cluster.model.configs.broker import BROKER_CONFIGS
from barnabas.cluster.model.configs.declarations import ConfigError, with_defaults
from barnabas.cluster.model.configs.topic import TOPIC_CONFIGS, broker_synonym, parse_topic, resolve

HOUR = 3600_000


def broker(**given):
    values = {name.replace("_", "."): value for name, value in given.items()}
    return with_defaults(BROKER_CONFIGS, {"zookeeper.connect": "z", **values})


def test_what_a_topic_sets_itself_wins():
    resolved = resolve(broker(min_insync_replicas=2), {"min.insync.replicas": 3})
    assert resolved["min.insync.replicas"] == 3


def test_what_it_does_not_set_comes_from_the_broker():
    resolved = resolve(broker(min_insync_replicas=2), {})
    assert resolved["min.insync.replicas"] == 2
    assert resolved["max.message.bytes"] == 1048588


def test_every_topic_setting_is_resolved():
    assert resolve(broker(), {}).keys() == TOPIC_CONFIGS.keys()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, 168 * HOUR),
        ({"log_retention_hours": 1}, HOUR),
        ({"log_retention_hours": -1}, -1),
        ({"log_retention_hours": 1, "log_retention_minutes": 5}, 5 * 60_000),
        ({"log_retention_minutes": 5, "log_retention_ms": 7}, 7),
        ({"log_retention_ms": -1, "log_retention_minutes": 5}, -1),
    ],
)
def test_retention_takes_ms_over_minutes_over_hours(given, expected):
    assert resolve(broker(**given), {})["retention.ms"] == expected


@pytest.mark.parametrize(
    ("given", "name", "expected"),
    [
        ({"log_roll_hours": 2}, "segment.ms", 2 * HOUR),
        ({"log_roll_hours": 2, "log_roll_ms": 5}, "segment.ms", 5),
        ({"log_roll_jitter_hours": 1}, "segment.jitter.ms", HOUR),
        ({"log_roll_jitter_ms": 9}, "segment.jitter.ms", 9),
        ({}, "flush.ms", 2**63 - 1),
        ({"log_flush_scheduler_interval_ms": 9}, "flush.ms", 9),
        ({"log_flush_interval_ms": 8, "log_flush_scheduler_interval_ms": 9}, "flush.ms", 8),
    ],
)
def test_times_with_several_broker_settings(given, name, expected):
    assert resolve(broker(**given), {})[name] == expected


def test_ranges_of_the_topic_may_differ_from_the_brokers():
    assert parse_topic({"flush.messages": "0"}) == ({"flush.messages": 0}, ())
    with pytest.raises(ConfigError, match=r"min\.insync\.replicas"):
        parse_topic({"min.insync.replicas": "0"})


def test_unknown_topic_settings_are_named():
    assert parse_topic({"colour": "red"}) == ({}, ("colour",))


def test_the_broker_setting_behind_a_topic_setting():
    assert broker_synonym("max.message.bytes") == "message.max.bytes"
    assert broker_synonym("leader.replication.throttled.replicas") is None
