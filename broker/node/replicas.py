"""The replicas of a broker and their log cleaner, opened in the second phase."""

from __future__ import annotations

import contextlib

from barnabas.broker.cleaning.log_cleaner import CleanerSettings, LogCleaner
from barnabas.broker.cleaning.metrics import CleanerMetrics
from barnabas.broker.core.quotas.replication_quota import ReplicationQuota
from barnabas.broker.lifecycle.process import BrokerProcess
from barnabas.broker.membership.log_dir_events import LogDirEvents
from barnabas.broker.node.open import Storage
from barnabas.broker.replicas.hosted import monotonic_ms
from barnabas.broker.replicas.leader_store import LeaderStore
from barnabas.broker.replicas.purgatory_metrics import show_purgatory
from barnabas.broker.replicas.service import ReplicaService
from barnabas.broker.replicas.settings import ReplicaSettings
from barnabas.broker.server.metadata_purgatories import MetadataPurgatories
from barnabas.cluster.model.configs.settings import settings_of
from barnabas.cluster.model.requests import LeaderAndIsrRequest
from barnabas.cluster.zk.client.errors import SessionExpired


def open_replicas(
    storage: Storage,
    purgatories: MetadataPurgatories,
    process: BrokerProcess,
    stack: contextlib.AsyncExitStack,
) -> ReplicaService:
    """Open the replicas, whose logs ``storage`` has opened, and start their periodic tasks."""
    membership, metrics = storage.membership, process.metrics

    async def read_topic_configs(request: LeaderAndIsrRequest) -> str | None:
        named = [partition.topic_partition for partition in request.partitions]
        not_hosted = {tp.topic for tp in named if replicas.hosted.get(tp) is None}
        try:
            await storage.topic_configs.read_new({tp.topic for tp in named}, not_hosted)
        except SessionExpired as error:
            # The broker registers again in the next session, and the controller sends it everything again.
            return f"{type(error).__name__}: {error}"
        return None

    events = LogDirEvents(storage.broker_id, lambda: membership.store.log_dir_events)
    replicas = ReplicaService(
        storage.broker_id,
        storage.logs,
        settings_of(ReplicaSettings, process.config.values),
        store=lambda: LeaderStore(membership.store),
        supervisor=process.supervisor,
        metrics=metrics,
        write=process.state_change_log.write,
        on_metadata=purgatories.changed,
        prepare=read_topic_configs,
        on_directory_failed=events.failed,
    )
    throttles = replicas.hosted.throttles = storage.config_handler.throttles
    metrics.watch(metrics.leader_replication_rate, lambda: _rate(throttles.leader))
    metrics.watch(metrics.follower_replication_rate, lambda: _rate(throttles.follower))
    metrics.watch(metrics.log_dir_replication_rate, lambda: _rate(throttles.log_dirs))
    replicas.start(after_clean_stop=storage.logs.were_clean)
    process.supervisor.spawn("log-dir-events", events.run())
    stack.push_async_callback(replicas.close)
    if process.config.flag("log.cleaner.enable"):
        _open_cleaner(storage, replicas, process, stack)
    metrics.watch(metrics.live_brokers, lambda: len(replicas.metadata.live_brokers))
    show_purgatory(metrics, purgatories.topics)
    show_purgatory(metrics, purgatories.elections)
    return replicas


def _open_cleaner(
    storage: Storage, replicas: ReplicaService, process: BrokerProcess, stack: contextlib.AsyncExitStack
) -> None:
    """Start the log cleaner, which also deletes old segments of compacted logs."""

    def settings() -> CleanerSettings:
        return settings_of(CleanerSettings, storage.live.config.values)

    cleaner = LogCleaner(replicas.hosted, settings)
    process.metrics.registry.register(CleanerMetrics(cleaner.figures))
    process.supervisor.spawn("log-cleaner", cleaner.run(process.supervisor))
    stack.push_async_callback(cleaner.close)


def _rate(quota: ReplicationQuota) -> float:
    return quota.rate.measure(monotonic_ms()).per_second
