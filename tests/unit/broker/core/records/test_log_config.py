from __future__ import annotations

from barnabas.broker.core.records.log_config import UNLIMITED, LogConfig
from barnabas.broker.core.records.record_batch import TimestampType
from barnabas.cluster.model.configs.broker import BROKER_CONFIGS
from barnabas.cluster.model.configs.declarations import with_defaults
from barnabas.cluster.model.configs.topic import parse_topic, resolve


def test_defaults_are_kafkas():
    config = LogConfig()
    assert (config.segment_bytes, config.segment_ms) == (1073741824, 604800000)
    assert (config.segment_index_bytes, config.index_interval_bytes) == (10485760, 4096)
    assert config.max_message_bytes == 1048588
    assert config.message_timestamp_type is TimestampType.CREATE_TIME
    assert (config.retention_ms, config.retention_bytes, config.file_delete_delay_ms) == (
        604800000,
        -1,
        60000,
    )
    assert (config.flush_messages, config.flush_ms) == (UNLIMITED, UNLIMITED)
    assert config.min_insync_replicas == 1
    assert config.cleanup_policy == {"delete"}


def test_the_settings_of_a_topic_become_one_object():
    overrides = {
        "cleanup.policy": "compact,delete",
        "message.timestamp.type": "LogAppendTime",
        "retention.ms": "5",
        "compression.type": "zstd",
    }
    broker = with_defaults(BROKER_CONFIGS, {"zookeeper.connect": "here:2181", "min.insync.replicas": 2})
    config = LogConfig.of(resolve(broker, parse_topic(overrides)[0]))
    assert config == LogConfig(
        cleanup_policy=frozenset({"compact", "delete"}),
        message_timestamp_type=TimestampType.LOG_APPEND_TIME,
        retention_ms=5,
        compression_type="zstd",
        min_insync_replicas=2,
    )
