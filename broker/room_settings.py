"""What each room of the broker goes by, taken from the broker's settings."""

from __future__ import annotations

from barnabas.broker.config import BrokerConfig
from barnabas.broker.handover import HandoverSettings
from barnabas.broker.replicas.settings import ReplicaSettings
from barnabas.broker.server.context import ServerSettings


def replica_settings(config: BrokerConfig) -> ReplicaSettings:
    """What replication goes by."""
    return ReplicaSettings(
        lag_time_max_ms=config.integer("replica.lag.time.max.ms"),
        fetch_wait_max_ms=config.integer("replica.fetch.wait.max.ms"),
        fetch_min_bytes=config.integer("replica.fetch.min.bytes"),
        fetch_max_bytes=config.integer("replica.fetch.max.bytes"),
        fetch_response_max_bytes=config.integer("replica.fetch.response.max.bytes"),
        fetch_backoff_ms=config.integer("replica.fetch.backoff.ms"),
        socket_timeout_ms=config.integer("replica.socket.timeout.ms"),
        high_watermark_checkpoint_interval_ms=config.integer("replica.high.watermark.checkpoint.interval.ms"),
        retention_check_interval_ms=config.integer("log.retention.check.interval.ms"),
        scrub_interval_ms=config.integer("log.scrub.interval.ms"),
        scrub_bytes_per_s=config.integer("log.scrub.io.max.bytes.per.second"),
        produce_purge_interval=config.integer("producer.purgatory.purge.interval.requests"),
        delete_records_purge_interval=config.integer("delete.records.purgatory.purge.interval.requests"),
        fetch_purge_interval=config.integer("fetch.purgatory.purge.interval.requests"),
        session_timeout_ms=config.session_timeout_ms,
    )


def handover_settings(config: BrokerConfig) -> HandoverSettings:
    """What a controlled shutdown goes by."""
    return HandoverSettings(
        enable=config.flag("controlled.shutdown.enable"),
        max_retries=config.integer("controlled.shutdown.max.retries"),
        retry_backoff_ms=config.integer("controlled.shutdown.retry.backoff.ms"),
        socket_timeout_ms=config.integer("controller.socket.timeout.ms"),
    )


def server_settings(config: BrokerConfig) -> ServerSettings:
    """What the client port goes by."""
    return ServerSettings(
        auto_create_topics=config.flag("auto.create.topics.enable"),
        fetch_max_bytes=config.integer("fetch.max.bytes"),
        request_max_bytes=config.integer("socket.request.max.bytes"),
        queued_max_request_bytes=config.integer("queued.max.request.bytes"),
        max_idle_ms=config.integer("connections.max.idle.ms"),
        send_buffer_bytes=config.integer("socket.send.buffer.bytes"),
        receive_buffer_bytes=config.integer("socket.receive.buffer.bytes"),
        request_timeout_ms=config.integer("request.timeout.ms"),
    )
