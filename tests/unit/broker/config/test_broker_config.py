from dataclasses import fields, replace
from pathlib import Path

import pytest

from barnabas.broker.config.broker_config import SettingsFileError, parse, read_settings
from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.record_batch import TimestampType
from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.model.configs.declarations import ConfigError

LEAST = {"zookeeper.connect": "localhost:2181", "broker.id": "1"}


def config(**more):
    return parse({**LEAST, **more}, hostname="here")[0]


def test_the_least_that_must_be_given():
    least = config()
    assert least.integer("broker.id") == 1
    assert least.zookeeper_connect == "localhost:2181"
    assert least.session_timeout_ms == 18000
    assert least.log_dirs == (Path("/tmp/kafka-logs"),)
    assert least.metrics_address is None
    assert least.pid_file is None
    assert least.logs_dir == Path("logs")
    assert least.flag("auto.create.topics.enable") is True
    assert least.text("broker.rack") is None


def test_the_default_listeners_are_advertised_by_the_machines_name():
    assert config().listeners == (Endpoint("PLAINTEXT", "", 9092), Endpoint("GRPC", "", 19092))
    assert config().advertised == (Endpoint("PLAINTEXT", "here", 9092), Endpoint("GRPC", "here", 19092))


def test_listeners_for_host_and_containers():
    given = config(
        **{
            "listeners": "PLAINTEXT://:29092,HOST://:9092,GRPC://:19092",
            "advertised.listeners": "PLAINTEXT://broker-1:29092,HOST://localhost:9092,GRPC://broker-1:19092",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,HOST:PLAINTEXT,GRPC:PLAINTEXT",
        }
    )
    assert [endpoint.host for endpoint in given.advertised] == ["broker-1", "localhost", "broker-1"]
    assert given.inter_broker_listener == "GRPC"


def test_the_connection_timeout_is_the_session_timeout_unless_it_is_set():
    assert config(**{"zookeeper.session.timeout.ms": "4000"}).connection_timeout_ms == 4000
    assert config(**{"zookeeper.connection.timeout.ms": "7"}).connection_timeout_ms == 7


def test_an_empty_text_switches_the_check_of_zookeepers_name_off():
    name = "zookeeper.ssl.endpoint.identification.algorithm"
    assert config().text(name) == "HTTPS"
    read = config(**{name: "", "broker.rack": ""})
    assert read.text(name) == ""
    assert read.given[name] == ""
    assert read.text("broker.rack") is None


def test_an_empty_cleanup_policy_keeps_all_records():
    assert config(**{"log.cleanup.policy": ""}).topic_defaults.cleanup_policy == frozenset()


def test_log_dirs_win_over_log_dir():
    assert config(**{"log.dir": "/a", "log.dirs": "/b,/c"}).log_dirs == (Path("/b"), Path("/c"))
    assert config(**{"log.dir": "/a"}).log_dirs == (Path("/a"),)


def test_an_empty_value_is_no_value():
    assert config(**{"broker.rack": "", "metrics.address": " "}).metrics_address is None


@pytest.mark.parametrize(
    ("text", "address"),
    [("127.0.0.1:0", ("127.0.0.1", 0)), (":9999", ("0.0.0.0", 9999)), ("[::1]:9999", ("::1", 9999))],
)
def test_the_metrics_address(text, address):
    assert config(**{"metrics.address": text}).metrics_address == address


def test_what_was_given_is_kept_as_text():
    given = {"log.cleanup.policy": " delete", "colour": "red"}
    assert config(**given, **{"broker.rack": " "}).given == {**LEAST, **given}


def test_unknown_keys_are_named():
    assert parse({**LEAST, "colour": "red"})[1] == ("colour",)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"zookeeper.connect": ""}, "zookeeper.connect is not set"),
        ({"num.partitions": "0"}, "num.partitions has the value '0'"),
        ({"metrics.address": "9999"}, "metrics.address has the value '9999'; it must be host:port"),
        (
            {"offsets.commit.required.acks": "4"},
            "-1, or at most offsets.topic.replication.factor, which is 3",
        ),
        ({"replica.fetch.wait.max.ms": "40000"}, "at most replica.socket.timeout.ms, which is 30000"),
        ({"replica.lag.time.max.ms": "100"}, "at most replica.lag.time.max.ms, which is 100"),
        ({"queued.max.request.bytes": "1000"}, "at least socket.request.max.bytes, which is 104857600"),
        ({"listeners": "PLAINTEXT://:9092"}, "inter.broker.listener.name has the value 'GRPC'"),
        ({"listeners": "GRPC://:9092"}, "two at least, one of them for clients"),
        ({"inter.broker.listener.name": "PLAINTEXT"}, "it must be one of GRPC"),
        ({"broker.id": "1001"}, "at most reserved.broker.max.id, which is 1000"),
        ({"broker.id": "-1", "broker.id.generation.enable": "false"}, "at least 0 where"),
        ({"advertised.listeners": "HOST://a:1,GRPC://a:2"}, "listener.security.protocol.map has: GRPC"),
        ({"advertised.listeners": "PLAINTEXT://0.0.0.0:1,GRPC://a:2"}, "an address that others can dial"),
        ({"log.cleaner.threads": "128"}, "more than 1048576 bytes for each of log.cleaner.threads"),
        ({"log.message.format.version": "0.10.2"}, "it must be 0.11.0 or later"),
        (
            {
                "advertised.listeners": "PLAINTEXT://a:1,HOST://b:2,GRPC://a:2",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,HOST:PLAINTEXT,GRPC:PLAINTEXT",
            },
            "among the listeners of `listeners`: GRPC, PLAINTEXT",
        ),
    ],
)
def test_contradictions_name_key_value_and_what_is_allowed(settings, named):
    with pytest.raises(ConfigError) as error:
        config(**settings)
    assert named in str(error.value)


def test_a_value_of_another_type_is_a_mistake_in_the_code():
    given = config()
    with pytest.raises(TypeError, match=r"broker\.id is not text"):
        given.text("broker.id")
    with pytest.raises(TypeError, match=r"broker\.id is not true or false"):
        given.flag("broker.id")
    with pytest.raises(TypeError, match=r"zookeeper\.connect is not a whole number"):
        given.integer("zookeeper.connect")


def test_a_setting_that_is_not_set_leaves_another_in_force():
    name, otherwise = "producer.id.expiration.ms", "transactional.id.expiration.ms"
    assert config(**{otherwise: "7"}).integer(name, otherwise) == 7
    assert config(**{otherwise: "7", name: "5"}).integer(name, otherwise) == 5


def test_without_any_setting_a_log_has_kafkas_defaults():
    assert config().topic_defaults == LogConfig()


def test_a_topics_own_settings_win():
    given = config(**{"min.insync.replicas": "2", "log.retention.hours": "1"})
    assert given.topic_defaults.min_insync_replicas == 2
    own = given.log_config(
        {
            "min.insync.replicas": "3",
            "message.timestamp.type": "LogAppendTime",
            "cleanup.policy": "delete,compact",
            "some.later.setting": "1",
        }
    )
    assert own.min_insync_replicas == 3
    assert own.retention_ms == 3600_000
    assert own.message_timestamp_type is TimestampType.LOG_APPEND_TIME
    assert own.cleanup_policy == {"delete", "compact"}


FIELDS = {
    "segment.bytes": ("log.segment.bytes", "100001", "segment_bytes", 100_001),
    "segment.ms": ("log.roll.ms", "100002", "segment_ms", 100_002),
    "segment.jitter.ms": ("log.roll.jitter.ms", "100003", "segment_jitter_ms", 100_003),
    "segment.index.bytes": ("log.index.size.max.bytes", "100004", "segment_index_bytes", 100_004),
    "min.cleanable.dirty.ratio": (
        "log.cleaner.min.cleanable.ratio",
        "0.25",
        "min_cleanable_dirty_ratio",
        0.25,
    ),
    "delete.retention.ms": ("log.cleaner.delete.retention.ms", "100021", "delete_retention_ms", 100_021),
    "min.compaction.lag.ms": (
        "log.cleaner.min.compaction.lag.ms",
        "100022",
        "min_compaction_lag_ms",
        100_022,
    ),
    "max.compaction.lag.ms": (
        "log.cleaner.max.compaction.lag.ms",
        "100023",
        "max_compaction_lag_ms",
        100_023,
    ),
    "index.interval.bytes": ("log.index.interval.bytes", "100005", "index_interval_bytes", 100_005),
    "preallocate": ("log.preallocate", "true", "preallocate", True),
    "max.message.bytes": ("message.max.bytes", "100006", "max_message_bytes", 100_006),
    "message.timestamp.type": (
        "log.message.timestamp.type",
        "LogAppendTime",
        "message_timestamp_type",
        TimestampType.LOG_APPEND_TIME,
    ),
    "message.timestamp.difference.max.ms": (
        "log.message.timestamp.difference.max.ms",
        "100007",
        "message_timestamp_difference_max_ms",
        100_007,
    ),
    "compression.type": ("compression.type", "zstd", "compression_type", "zstd"),
    "min.insync.replicas": ("min.insync.replicas", "9", "min_insync_replicas", 9),
    "unclean.leader.election.enable": (
        "unclean.leader.election.enable",
        "true",
        "unclean_leader_election_enable",
        True,
    ),
    "retention.ms": ("log.retention.ms", "100008", "retention_ms", 100_008),
    "retention.bytes": ("log.retention.bytes", "100009", "retention_bytes", 100_009),
    "file.delete.delay.ms": ("log.segment.delete.delay.ms", "100010", "file_delete_delay_ms", 100_010),
    "flush.messages": ("log.flush.interval.messages", "100011", "flush_messages", 100_011),
    "flush.ms": ("log.flush.interval.ms", "100012", "flush_ms", 100_012),
}
"""Of each topic setting: the broker's, a value that is nobody's default, and what logs go by then."""


THROTTLED = {"leader_replication_throttled_replicas", "follower_replication_throttled_replicas"}
"""The lists of a topic that no broker has a default of."""


def test_a_topic_lists_its_throttled_replicas():
    config = parse({"zookeeper.connect": "z"}, hostname="here")[0]
    own = config.log_config({name.replace("_", "."): "0:1,1:2" for name in THROTTLED})
    assert {getattr(own, name) for name in THROTTLED} == {frozenset({"0:1", "1:2"})}
    assert {getattr(config.log_config({}), name) for name in THROTTLED} == {frozenset()}


def test_every_field_of_a_log_is_set_by_something():
    assert {field.name for field in fields(LogConfig)} == {
        "cleanup_policy",
        *THROTTLED,
        *(field for _, _, field, _ in FIELDS.values()),
    }


@pytest.mark.parametrize("topic_setting", FIELDS)
def test_each_setting_of_brokers_and_topics_reaches_its_own_field(topic_setting):
    broker_setting, text, field, value = FIELDS[topic_setting]
    expected = replace(LogConfig(), **{field: value})
    assert config(**{broker_setting: text}).topic_defaults == expected
    assert config().log_config({topic_setting: text}) == expected


def test_overrides_win_over_the_file(tmp_path):
    file = tmp_path / "server.properties"
    file.write_text("# mine\nbroker.id=1\nlog.dirs=/a\n")
    assert read_settings(file, ["broker.id=2", "failpoints=a=b"]) == {
        "broker.id": "2",
        "log.dirs": "/a",
        "failpoints": "a=b",
    }


@pytest.mark.parametrize("override", ["broker.id", "=1"])
def test_an_override_has_a_key_and_a_value(tmp_path, override):
    (tmp_path / "server.properties").write_text("")
    with pytest.raises(SettingsFileError, match="must have the form key=value"):
        read_settings(tmp_path / "server.properties", [override])


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(SettingsFileError, match=r"absent\.properties"):
        read_settings(tmp_path / "absent.properties")
