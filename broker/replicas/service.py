"""All parts of this broker that work with replicas, built and run together (Kafka's ``ReplicaManager``)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection

from barnabas.broker.core.metadata_cache import MetadataCache, MetadataChange
from barnabas.broker.core.replication.control_gate import ControlGate
from barnabas.broker.disk.directory.log_dirs import LogDirs
from barnabas.broker.replicas.append import Appender
from barnabas.broker.replicas.control_requests import ControlRequests, Write
from barnabas.broker.replicas.damage import DamagedReplicas
from barnabas.broker.replicas.delete_records import RecordDeleter
from barnabas.broker.replicas.fetch_sessions import FetchSessions
from barnabas.broker.replicas.hosted import HostedPartition, HostedPartitions
from barnabas.broker.replicas.isr_keeper import IsrKeeper
from barnabas.broker.replicas.leader_store import LeaderStore
from barnabas.broker.replicas.log_dir_admin import LogDirectories
from barnabas.broker.replicas.log_dir_mover import LogDirMover
from barnabas.broker.replicas.purgatory_metrics import show_purgatory
from barnabas.broker.replicas.ranges import RangeReader
from barnabas.broker.replicas.read import Reader
from barnabas.broker.replicas.replica_fetchers import ReplicaFetchers
from barnabas.broker.replicas.retention import LogRetention
from barnabas.broker.replicas.settings import ReplicaSettings
from barnabas.broker.replicas.strays import Strays
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.requests import LeaderAndIsrRequest
from barnabas.cluster.runtime.log_metrics import LogMetrics, LogSize
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.cluster.runtime.supervisor import Supervisor


class ReplicaService:
    """The replicas of one broker.

    Attributes:
        hosted: The partitions, with their purgatories.
        metadata: This broker's copy of the cluster's metadata.
        gate: Judges control requests; ``gate.registered`` is called with each registration of this broker.
        appends: The produce path.
        deletes: The path of DeleteRecords.
        reads: The read paths for consumers.
        log_dirs: The log directories as clients describe and alter them.
        sessions: The fetch sessions of the followers.
        ranges: Serves replicas that fetch a damaged range again.
        damaged: Finds damaged replicas and repairs them.
        control_requests: Handles the controller's requests.
        keeper: Writes ISR changes.

    Args:
        broker_id: This broker.
        logs: Its log directories, open.
        settings: The settings of replication.
        store: Returns the store of the current ZooKeeper session.
        supervisor: Owns the tasks.
        metrics: The metrics of this broker.
        write: Writes state-change.log.
        on_metadata: Called with each change of ``metadata``.
        prepare: Awaited before an admitted LeaderAndIsr is handled, see `ControlRequests`.
        on_directory_failed: Called once for each log directory that fails.
    """

    def __init__(
        self,
        broker_id: BrokerId,
        logs: LogDirs,
        settings: ReplicaSettings,
        *,
        store: Callable[[], LeaderStore],
        supervisor: Supervisor,
        metrics: Metrics,
        write: Write,
        on_metadata: Callable[[MetadataChange], None],
        prepare: Callable[[LeaderAndIsrRequest], Awaitable[str | None]] | None = None,
        on_directory_failed: Callable[[], None] = lambda: None,
    ) -> None:
        self._settings = settings
        self._supervisor = supervisor
        self.metadata = MetadataCache()
        self.gate = ControlGate()
        self.hosted = HostedPartitions(broker_id, logs, self.metadata, settings, metrics.traffic)
        expired = metrics.fetch_expirations.labels
        self.appends = Appender(self.hosted, lambda tp: metrics.produce_expirations.labels(*tp).inc())
        self.deletes = RecordDeleter(self.hosted)
        self.reads = Reader(self.hosted, expired(fetcherType="consumer").inc)
        self._mover = LogDirMover(self.hosted, logs, settings.log_dir_threads or len(logs.configured))
        self.hosted.on_hosted = self._mover.wake
        self.log_dirs = LogDirectories(self.hosted, logs, self._mover.wake)
        self.keeper = IsrKeeper(self.hosted, store, supervisor, metrics)
        self.sessions = FetchSessions(
            self.hosted,
            self.metadata,
            self.keeper.follower_may_join,
            expired(fetcherType="follower").inc,
            self.keeper.check,
        )
        self._fetchers = ReplicaFetchers(self.hosted, supervisor, lambda: self.gate.broker_epoch)
        self.control_requests = ControlRequests(
            self.hosted,
            self.metadata,
            self.gate,
            self._fetchers,
            write=write,
            on_metadata=on_metadata,
            prepare=prepare,
        )
        self.ranges = RangeReader(self.hosted)
        self.damaged = DamagedReplicas(self.hosted, self.metadata, supervisor, metrics)
        self._retention = LogRetention(self.hosted)
        self._scrubbing: asyncio.Task[None] | None = None
        self._looking_for_strays: asyncio.Task[None] | None = None
        self._strays = Strays(
            self.hosted, lambda: logs.logs, store, self.control_requests.orders, self._fetchers.stop
        )
        self.control_requests.on_full = self._look_for_strays
        self._on_directory_failed = on_directory_failed
        self.hosted.on_directory_failed = self._directory_failed
        self._show(metrics)

    def _look_for_strays(self, full_list: Collection[TopicPartition]) -> None:
        if self._looking_for_strays is not None:
            self._looking_for_strays.cancel()  # the next full list finds its suspects again
        suspects = self._strays.suspects(full_list)
        self._looking_for_strays = self._supervisor.spawn("strays", self._strays.put_aside(suspects))

    def _show(self, metrics: Metrics) -> None:
        hosted = self.hosted
        metrics.watch(metrics.leader_count, lambda: hosted.leader_count)
        metrics.watch(metrics.partition_count, lambda: len(hosted.all))
        metrics.watch(metrics.under_replicated_partitions, lambda: hosted.under_replicated_count)
        metrics.watch(metrics.under_min_isr_partition_count, lambda: hosted.under_min_isr_count)
        metrics.watch(metrics.at_min_isr_partition_count, lambda: hosted.at_min_isr_count)
        metrics.watch(metrics.max_lag, lambda: self._fetchers.max_lag, clientId="Replica")
        metrics.traffic.hosted = lambda: {each.topic_partition.topic for each in tuple(hosted.all)}
        metrics.watch(metrics.offline_replica_count, lambda: len(hosted.offline))
        metrics.watch(metrics.log_dir_move_lag, lambda: self._mover.max_lag)
        metrics.registry.register(LogMetrics(lambda: map(_size_of, tuple(hosted.all))))
        show_purgatory(metrics, hosted.produces)
        show_purgatory(metrics, hosted.deletes)
        show_purgatory(metrics, hosted.fetches)

    def _directory_failed(self, gone: Collection[TopicPartition]) -> None:
        self._fetchers.stop(gone)
        self._on_directory_failed()

    def start(self, *, after_clean_stop: bool = True) -> None:
        """Start the periodic tasks.

        Args:
            after_clean_stop: Whether the last shutdown was clean; otherwise all logs are checked at once.
        """
        self._supervisor.spawn("isr-check", self.keeper.check_regularly())
        self._supervisor.spawn("isr-announcements", self.keeper.announce_changes())
        self._supervisor.spawn("high-watermark-checkpoint", self._checkpoint_high_watermarks())
        interval_ms = self._settings.retention_check_interval_ms
        self._supervisor.spawn("log-retention", self._retention.keep(interval_ms))
        self._mover.start(self._supervisor)
        scrub = self.damaged.scrub.run(after_clean_stop=after_clean_stop)
        self._scrubbing = self._supervisor.spawn("log-scrub", scrub)

    async def _checkpoint_high_watermarks(self) -> None:
        while True:
            await asyncio.sleep(self._settings.high_watermark_checkpoint_interval_ms / 1000)
            self.hosted.checkpoint_high_watermarks()

    async def close(self) -> None:
        """Stop fetching and checkpoint the high watermarks; the caller closes the logs."""
        self.control_requests.close()
        if self._scrubbing is not None:
            self._scrubbing.cancel()
            await asyncio.gather(self._scrubbing, return_exceptions=True)
        await self._mover.close()
        await self.damaged.close()
        await self._fetchers.close()
        self.hosted.checkpoint_high_watermarks()


def _size_of(partition: HostedPartition) -> LogSize:
    log = partition.log
    return LogSize(
        partition.topic_partition, log.segment_count, log.log_start_offset, log.log_end_offset, log.size
    )
