"""The settings that replication goes by, typed; the table of configs reads and checks their text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplicaSettings:
    """Kafka's broker settings of the same names; times in milliseconds, sizes in bytes.

    Attributes:
        lag_time_max_ms: ``replica.lag.time.max.ms``: a replica behind for longer leaves the ISR.
        fetch_wait_max_ms: ``replica.fetch.wait.max.ms``: how long a leader may hold a follower's fetch.
        fetch_min_bytes: ``replica.fetch.min.bytes``: how much ends that hold early.
        fetch_max_bytes: ``replica.fetch.max.bytes``: of one partition in one answer.
        fetch_response_max_bytes: ``replica.fetch.response.max.bytes``: of all partitions in one answer.
        fetch_backoff_ms: ``replica.fetch.backoff.ms``: the pause after a failed fetch.
        socket_timeout_ms: ``replica.socket.timeout.ms``: a leader silent for longer is dialled anew.
        high_watermark_checkpoint_interval_ms: ``replica.high.watermark.checkpoint.interval.ms``.
        retention_check_interval_ms: ``log.retention.check.interval.ms``.
        scrub_interval_ms: ``log.scrub.interval.ms``: the pause between two checks of all checksums.
        scrub_bytes_per_s: ``log.scrub.io.max.bytes.per.second``: how fast each log directory is read for it.
        produce_purge_interval: ``producer.purgatory.purge.interval.requests``.
        delete_records_purge_interval: ``delete.records.purgatory.purge.interval.requests``.
        fetch_purge_interval: ``fetch.purgatory.purge.interval.requests``.
        session_timeout_ms: ``zookeeper.session.timeout.ms``: what the streams' keepalive goes by.
    """

    lag_time_max_ms: int = 30_000
    fetch_wait_max_ms: int = 500
    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 1_048_576
    fetch_response_max_bytes: int = 10_485_760
    fetch_backoff_ms: int = 1_000
    socket_timeout_ms: int = 30_000
    high_watermark_checkpoint_interval_ms: int = 5_000
    retention_check_interval_ms: int = 300_000
    scrub_interval_ms: int = 86_400_000
    scrub_bytes_per_s: int = 10_485_760
    produce_purge_interval: int = 1_000
    delete_records_purge_interval: int = 1
    fetch_purge_interval: int = 1_000
    session_timeout_ms: int = 18_000
