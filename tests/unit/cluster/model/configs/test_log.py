from barnabas.cluster.model.configs.log import LOG_CONFIGS


def test_no_two_broker_settings_stand_behind_one_topic_setting():
    topics = [config.topic for config in LOG_CONFIGS if config.topic is not None]
    assert len(topics) == len(set(topics))


def test_the_topic_settings_are_those_of_kafka_2_8():
    assert {config.topic for config in LOG_CONFIGS} - {None} == {
        "cleanup.policy",
        "compression.type",
        "delete.retention.ms",
        "file.delete.delay.ms",
        "flush.messages",
        "flush.ms",
        "index.interval.bytes",
        "max.compaction.lag.ms",
        "max.message.bytes",
        "message.downconversion.enable",
        "message.format.version",
        "message.timestamp.difference.max.ms",
        "message.timestamp.type",
        "min.cleanable.dirty.ratio",
        "min.compaction.lag.ms",
        "min.insync.replicas",
        "preallocate",
        "retention.bytes",
        "retention.ms",
        "segment.bytes",
        "segment.index.bytes",
        "segment.jitter.ms",
        "segment.ms",
        "unclean.leader.election.enable",
    }
