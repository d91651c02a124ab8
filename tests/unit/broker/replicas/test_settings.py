"""The defaults are those of the table of configs."""

from __future__ import annotations

from dataclasses import fields

import pytest

from barnabas.broker.replicas.settings import ReplicaSettings
from barnabas.cluster.model.configs_broker import BROKER_CONFIGS

NAMES = {
    "lag_time_max_ms": "replica.lag.time.max.ms",
    "fetch_wait_max_ms": "replica.fetch.wait.max.ms",
    "fetch_min_bytes": "replica.fetch.min.bytes",
    "fetch_max_bytes": "replica.fetch.max.bytes",
    "fetch_response_max_bytes": "replica.fetch.response.max.bytes",
    "fetch_backoff_ms": "replica.fetch.backoff.ms",
    "socket_timeout_ms": "replica.socket.timeout.ms",
    "high_watermark_checkpoint_interval_ms": "replica.high.watermark.checkpoint.interval.ms",
    "retention_check_interval_ms": "log.retention.check.interval.ms",
    "scrub_interval_ms": "log.scrub.interval.ms",
    "scrub_bytes_per_s": "log.scrub.io.max.bytes.per.second",
    "produce_purge_interval": "producer.purgatory.purge.interval.requests",
    "delete_records_purge_interval": "delete.records.purgatory.purge.interval.requests",
    "fetch_purge_interval": "fetch.purgatory.purge.interval.requests",
    "session_timeout_ms": "zookeeper.session.timeout.ms",
}


@pytest.mark.parametrize("field", [field.name for field in fields(ReplicaSettings)])
def test_defaults(field):
    assert getattr(ReplicaSettings(), field) == BROKER_CONFIGS[NAMES[field]].default
