"""The declarations of broker settings of logs, each with the topic setting that overrides it.

Source: ``kafka.server.KafkaConfig`` and ``kafka.log.LogConfig.TopicConfigSynonyms`` of release 2.8.
"""

from __future__ import annotations

from barnabas.cluster.model.configs.declarations import (
    UNLIMITED_INT,
    UNLIMITED_LONG,
    Config,
    Type,
    at_least,
    between,
    list_of,
    not_empty,
    not_zero,
    one_of,
)
from barnabas.cluster.model.configs.unserved import release

_BOOLEAN, _INT, _LONG = Type.BOOLEAN, Type.INT, Type.LONG
_DOUBLE, _STRING, _LIST = Type.DOUBLE, Type.STRING, Type.LIST

COMPRESSION_TYPES = ("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd")
"""The values of ``compression.type``; ``producer`` keeps the producer's codec."""

TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")
"""The values of ``message.timestamp.type``."""

CLEANUP_POLICIES = ("delete", "compact")
"""The values of ``cleanup.policy``."""

_DIRECTORIES = (
    Config(
        "log.dirs",
        _LIST,
        None,
        "The directories of the logs; by default log.dir.",
        not_empty(),
        declared_as=_STRING,
    ),
    Config("log.dir", _STRING, "/tmp/kafka-logs", "The one directory of the logs.", not_empty()),
    Config(
        "num.recovery.threads.per.data.dir",
        _INT,
        1,
        "Threads that recover the logs of a directory.",
        at_least(1),
    ),
)

_WRITING = (
    Config(
        "compression.type",
        _STRING,
        "producer",
        "The compression of stored batches.",
        one_of(*COMPRESSION_TYPES),
        topic="compression.type",
    ),
    Config(
        "message.max.bytes",
        _INT,
        1048588,
        "The largest batch, bytes.",
        at_least(0),
        topic="max.message.bytes",
    ),
    Config(
        "min.insync.replicas",
        _INT,
        1,
        "The in-sync replicas that acks=all needs.",
        at_least(1),
        topic="min.insync.replicas",
    ),
    Config(
        "unclean.leader.election.enable",
        _BOOLEAN,
        default=False,
        doc="Whether a replica outside the ISR may lead as a last resort.",
        topic="unclean.leader.election.enable",
    ),
    Config(
        "log.message.timestamp.type",
        _STRING,
        "CreateTime",
        "Whether clients or the broker set the timestamps of records.",
        one_of(*TIMESTAMP_TYPES),
        topic="message.timestamp.type",
    ),
    Config(
        "log.message.timestamp.difference.max.ms",
        _LONG,
        UNLIMITED_LONG,
        "The largest difference of a record's timestamp to the broker's clock, ms.",
        at_least(0),
        topic="message.timestamp.difference.max.ms",
    ),
    Config(
        "log.preallocate",
        _BOOLEAN,
        default=False,
        doc="Whether segment files are preallocated.",
        topic="preallocate",
    ),
    Config(
        "log.message.downconversion.enable",
        _BOOLEAN,
        default=True,
        doc="Ignored; only the current message format is stored.",
        topic="message.downconversion.enable",
    ),
    Config(
        "log.message.format.version",
        _STRING,
        "2.6",
        "Ignored; only the current message format is stored.",
        release(),
        topic="message.format.version",
    ),
)

_SEGMENTS = (
    Config(
        "log.segment.bytes",
        _INT,
        1073741824,
        "The size at which a segment is rolled.",
        at_least(14),
        "segment.bytes",
    ),
    Config(
        "log.roll.ms", _LONG, None, "The age at which a segment is rolled, ms.", at_least(1), "segment.ms"
    ),
    Config("log.roll.hours", _INT, 168, "The same in hours, if log.roll.ms is not set.", at_least(1)),
    Config(
        "log.roll.jitter.ms",
        _LONG,
        None,
        "The most that is subtracted from it at random, ms.",
        at_least(0),
        "segment.jitter.ms",
    ),
    Config(
        "log.roll.jitter.hours",
        _INT,
        0,
        "The same in hours, if log.roll.jitter.ms is not set.",
        at_least(0),
    ),
    Config(
        "log.index.size.max.bytes",
        _INT,
        10485760,
        "The size of an index.",
        at_least(4),
        topic="segment.index.bytes",
    ),
    Config(
        "log.index.interval.bytes",
        _INT,
        4096,
        "Bytes between index entries.",
        at_least(0),
        topic="index.interval.bytes",
    ),
    Config(
        "log.segment.delete.delay.ms",
        _LONG,
        60000,
        "How long a removed file is kept, ms.",
        at_least(0),
        topic="file.delete.delay.ms",
    ),
)

_RETENTION = (
    Config(
        "log.retention.ms",
        _LONG,
        None,
        "How long records are kept, ms.",
        not_zero(),
        topic="retention.ms",
    ),
    Config(
        "log.retention.minutes",
        _INT,
        None,
        "The same in minutes, if log.retention.ms is not set.",
        not_zero(),
    ),
    Config("log.retention.hours", _INT, 168, "The same in hours, if neither is set.", not_zero()),
    Config(
        "log.retention.bytes",
        _LONG,
        -1,
        "The most bytes of a log that are kept; negative for all.",
        topic="retention.bytes",
    ),
    Config(
        "log.retention.check.interval.ms", _LONG, 300000, "How often retention is checked, ms.", at_least(1)
    ),
    Config(
        "log.scrub.interval.ms",
        _LONG,
        86_400_000,
        "The pause between two checks of all checksums, ms.",
        at_least(1),
        ours=True,
    ),
    Config(
        "log.scrub.io.max.bytes.per.second",
        _LONG,
        10_485_760,
        "The rate at which a check reads a log directory, bytes per second.",
        at_least(1),
        ours=True,
    ),
    Config(
        "log.cleanup.policy",
        _LIST,
        ("delete",),
        "How old records go: delete, compact, or both; they stay if it is empty.",
        list_of(*CLEANUP_POLICIES),
        topic="cleanup.policy",
    ),
)

_FLUSHING = (
    Config(
        "log.flush.interval.messages",
        _LONG,
        UNLIMITED_LONG,
        "Records between fsyncs.",
        at_least(1),
        topic="flush.messages",
    ),
    Config(
        "log.flush.interval.ms",
        _LONG,
        None,
        "Time between fsyncs, ms; by default the scheduler interval.",
        at_least(0),
        topic="flush.ms",
    ),
    Config(
        "log.flush.scheduler.interval.ms",
        _LONG,
        UNLIMITED_LONG,
        "How often the flush interval is checked, ms.",
        at_least(1),
    ),
    Config(
        "log.flush.offset.checkpoint.interval.ms",
        _INT,
        60000,
        "How often recovery points are written, ms.",
        at_least(0),
    ),
    Config(
        "log.flush.start.offset.checkpoint.interval.ms",
        _INT,
        60000,
        "How often log start offsets are written, ms.",
        at_least(0),
    ),
)

_CLEANING = (
    Config("log.cleaner.enable", _BOOLEAN, default=True, doc="Whether logs are compacted."),
    Config("log.cleaner.threads", _INT, 1, "Threads that compact.", between(0, UNLIMITED_INT)),
    Config(
        "log.cleaner.dedupe.buffer.size", _LONG, 134217728, "Bytes for the map of keys.", at_least(1048577)
    ),
    Config("log.cleaner.io.buffer.size", _INT, 524288, "Bytes for reading and writing.", at_least(0)),
    Config(
        "log.cleaner.io.buffer.load.factor", _DOUBLE, 0.9, "The share of the map of keys that may be used."
    ),
    Config(
        "log.cleaner.io.max.bytes.per.second",
        _DOUBLE,
        1.7976931348623157e308,
        "How fast all threads together read and write, bytes a second.",
    ),
    Config(
        "log.cleaner.backoff.ms", _LONG, 15000, "Pause while there is nothing to compact, ms.", at_least(0)
    ),
    Config(
        "log.cleaner.min.cleanable.ratio",
        _DOUBLE,
        0.5,
        "The dirty part of a log that makes it worth compacting.",
        between(0, 1),
        topic="min.cleanable.dirty.ratio",
    ),
    Config(
        "log.cleaner.delete.retention.ms",
        _LONG,
        86400000,
        "How long the tombstone of a deleted key is kept, ms.",
        at_least(0),
        topic="delete.retention.ms",
    ),
    Config(
        "log.cleaner.min.compaction.lag.ms",
        _LONG,
        0,
        "The shortest time before a record is compacted, ms.",
        at_least(0),
        topic="min.compaction.lag.ms",
    ),
    Config(
        "log.cleaner.max.compaction.lag.ms",
        _LONG,
        UNLIMITED_LONG,
        "The longest time before a record is compacted, ms.",
        at_least(1),
        topic="max.compaction.lag.ms",
    ),
)

LOG_CONFIGS = _DIRECTORIES + _WRITING + _SEGMENTS + _RETENTION + _FLUSHING + _CLEANING
"""The declarations of the settings of a broker's logs."""
