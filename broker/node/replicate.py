"""The second phase of a broker: its replicas, its controller, and the gRPC server for other brokers."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass

import structlog

from barnabas.broker.cleaning.log_cleaner import CleanerSettings, LogCleaner
from barnabas.broker.cleaning.metrics import CleanerMetrics
from barnabas.broker.config.broker_config import BrokerConfig
from barnabas.broker.config.start_error import StartError
from barnabas.broker.coordinator.coordinator import GroupCoordinator
from barnabas.broker.coordinator.metrics import show_groups
from barnabas.broker.coordinator.offsets_topic import OffsetsTopic
from barnabas.broker.coordinator.settings import GroupSettings
from barnabas.broker.core.quotas.replication_quota import ReplicationQuota
from barnabas.broker.lifecycle.descriptors import most_peer_connections
from barnabas.broker.lifecycle.process import BrokerProcess
from barnabas.broker.membership.log_dir_events import LogDirEvents
from barnabas.broker.node.open import Storage
from barnabas.broker.node.peer_tls import PeerTls, open_peer_tls, peer_access, warn_of_open_port
from barnabas.broker.replicas.hosted import monotonic_ms
from barnabas.broker.replicas.leader_store import LeaderStore
from barnabas.broker.replicas.producer_ids import ProducerIdBlocks
from barnabas.broker.replicas.purgatory_metrics import show_purgatory
from barnabas.broker.replicas.service import ReplicaService
from barnabas.broker.replicas.settings import ReplicaSettings
from barnabas.broker.replicas.system_timer import SystemTimer
from barnabas.broker.server.metadata_purgatories import MetadataPurgatories
from barnabas.broker.server.peers.any_controller import AnyController
from barnabas.broker.server.peers.control_check import ControlRequestCheck
from barnabas.broker.server.peers.peers import PeerServer
from barnabas.cluster.model.configs.settings import settings_of
from barnabas.cluster.model.epochs import ControllerEpoch
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.requests import LeaderAndIsrRequest
from barnabas.cluster.model.statechange.levels import Level
from barnabas.cluster.zk.client.errors import SessionExpired
from barnabas.controller.node import ControllerNode, ControllerSettings

_log = structlog.get_logger("kafka.server.KafkaServer")

PEERS_GRACE_S = 0.5
"""Time that calls of other brokers in flight may take once this broker stops, seconds."""

RESIGN_DEADLINE_S = 3.0
"""Time that a stopping broker gives its controller to resign, seconds. Its session ends afterwards anyway."""


@dataclass(frozen=True, slots=True)
class Replication:
    """The resources that the second phase has opened.

    Attributes:
        replicas: The replicas of this broker.
        controller: The controller of this process, which acts if this broker is elected.
        any_controller: Reaches the active controller on whichever broker it runs.
        producer_ids: Hands out producer ids.
        groups: The group coordinator.
        peer_port: The bound port of the listener between brokers.
    """

    replicas: ReplicaService
    controller: ControllerNode
    any_controller: AnyController
    producer_ids: ProducerIdBlocks
    groups: GroupCoordinator
    peer_port: int


async def open_replication(
    storage: Storage,
    purgatories: MetadataPurgatories,
    process: BrokerProcess,
    stack: contextlib.AsyncExitStack,
) -> Replication:
    """Open the replicas, the controller and the gRPC server.

    Args:
        storage: What the first phase has opened.
        purgatories: Completed after each change of metadata.
        process: Owns the tasks, metrics and state-change.log.
        stack: Takes the callbacks that close all of it.

    Raises:
        StartError: The port for other brokers is in use.
        ZooKeeperError: No block of producer ids could be taken.
    """
    config = process.config
    tls = await open_peer_tls(process, stack)
    warn_of_open_port(config, storage.authorizer)
    replicas = _open_replicas(storage, purgatories, process, stack)
    controller = _open_controller(storage, replicas, purgatories, process)
    stack.push_async_callback(resign, controller)
    any_controller = AnyController(
        storage.broker_id, controller.port, replicas.metadata, config.session_timeout_ms
    )
    replicas.damaged.controller = any_controller
    storage.config_handler.serve(lambda: storage.logs.logs, controller)
    groups = _open_groups(replicas, any_controller, purgatories, process, stack)
    peers = _peers(storage, replicas, controller, process, tls)
    peer_port = await _listen(peers, config)
    stack.push_async_callback(peers.stop, PEERS_GRACE_S)
    producer_ids = ProducerIdBlocks(
        lambda: storage.membership.store.cluster.take_producer_id_block(storage.broker_id)
    )
    await producer_ids.take_first_block()
    return Replication(replicas, controller, any_controller, producer_ids, groups, peer_port)


def _open_groups(
    replicas: ReplicaService,
    any_controller: AnyController,
    purgatories: MetadataPurgatories,
    process: BrokerProcess,
    stack: contextlib.AsyncExitStack,
) -> GroupCoordinator:
    settings = settings_of(GroupSettings, process.config.values)
    supervisor, metrics = process.supervisor, process.metrics
    groups = GroupCoordinator(
        settings,
        OffsetsTopic(settings, replicas.metadata, any_controller, supervisor),
        replicas.hosted,
        appends=replicas.appends,
        timer=SystemTimer(),
        supervisor=supervisor,
        metrics=metrics,
    )
    replicas.hosted.on_leadership_changed = groups.leadership_changed
    purgatories.on_deleted = groups.partitions_deleted
    supervisor.spawn("offsets-expiration", groups.expire_offsets())
    show_groups(metrics, groups.partitions)
    stack.callback(groups.close)
    return groups


def _open_replicas(
    storage: Storage,
    purgatories: MetadataPurgatories,
    process: BrokerProcess,
    stack: contextlib.AsyncExitStack,
) -> ReplicaService:
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


def _open_controller(
    storage: Storage, replicas: ReplicaService, purgatories: MetadataPurgatories, process: BrokerProcess
) -> ControllerNode:
    def controller_changed(controller: BrokerId, epoch: ControllerEpoch) -> None:
        replicas.gate.adopt(epoch)
        replicas.metadata.controller_changed(controller if controller >= 0 else None)
        purgatories.controller_changed()

    values = storage.live.config.values
    return ControllerNode(
        settings_of(
            ControllerSettings,
            values,
            broker_id=storage.broker_id,
            state_change_log_traces=values["state.change.log.level"] == Level.TRACE.name,
        ),
        process.supervisor,
        process.state_change_log,
        process.metrics,
        controller_changed,
    )


async def resign(controller: ControllerNode) -> None:
    """Stop the controller of this process, waiting `RESIGN_DEADLINE_S` seconds for it to resign."""
    try:
        async with asyncio.timeout(RESIGN_DEADLINE_S):
            await controller.stop()
    except TimeoutError:
        _log.warning(f"The controller did not resign within {RESIGN_DEADLINE_S:g} s; its session ends now")


def _peers(
    storage: Storage,
    replicas: ReplicaService,
    controller: ControllerNode,
    process: BrokerProcess,
    tls: PeerTls | None,
) -> PeerServer:
    async def latest_epoch() -> ControllerEpoch:
        return await storage.membership.store.controller.latest_epoch()

    check = ControlRequestCheck(
        storage.broker_id, replicas.gate, process.state_change_log.write, latest_epoch
    )
    return PeerServer(
        replicas.control_requests,
        replicas.sessions,
        check,
        controller.port,
        process.config.session_timeout_ms,
        ranges=replicas.ranges,
        most_connections=most_peer_connections(process.descriptors),
        max_idle_ms=process.config.integer("connections.max.idle.ms"),
        access=peer_access(tls, storage, replicas),
    )


async def _listen(peers: PeerServer, config: BrokerConfig) -> int:
    """Start the server for other brokers and return its port.

    Raises:
        StartError: The port is in use.
    """
    endpoint = next(each for each in config.listeners if each.listener == config.inter_broker_listener)
    try:
        return await peers.start(endpoint.host or "::", endpoint.port)
    except OSError as error:
        raise StartError(f"Cannot listen on {endpoint}: {error.strerror}") from error
