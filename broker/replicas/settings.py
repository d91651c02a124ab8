"""The settings that replication reads."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.cluster.model.configs.settings import setting


@dataclass(frozen=True, slots=True)
class ReplicaSettings:
    """The settings that replication reads; times in milliseconds, sizes in bytes."""

    lag_time_max_ms: int = setting("replica.lag.time.max.ms")
    fetch_wait_max_ms: int = setting("replica.fetch.wait.max.ms")
    fetch_min_bytes: int = setting("replica.fetch.min.bytes")
    fetch_max_bytes: int = setting("replica.fetch.max.bytes")
    fetch_response_max_bytes: int = setting("replica.fetch.response.max.bytes")
    log_dir_threads: int | None = setting("num.replica.alter.log.dirs.threads")
    fetch_backoff_ms: int = setting("replica.fetch.backoff.ms")
    socket_timeout_ms: int = setting("replica.socket.timeout.ms")
    high_watermark_checkpoint_interval_ms: int = setting("replica.high.watermark.checkpoint.interval.ms")
    retention_check_interval_ms: int = setting("log.retention.check.interval.ms")
    scrub_interval_ms: int = setting("log.scrub.interval.ms")
    scrub_bytes_per_s: int = setting("log.scrub.io.max.bytes.per.second")
    produce_purge_interval: int = setting("producer.purgatory.purge.interval.requests")
    delete_records_purge_interval: int = setting("delete.records.purgatory.purge.interval.requests")
    fetch_purge_interval: int = setting("fetch.purgatory.purge.interval.requests")
    replica_selector_class: str | None = setting("replica.selector.class")
    session_timeout_ms: int = setting("zookeeper.session.timeout.ms")
