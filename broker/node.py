"""One broker: its rooms, put together, opened in order and closed in the opposite order.

The order (docs/kafka/controller.md, Election): ports, ZooKeeper session, cluster id and broker id, logs,
replicas, gRPC, registration, the race for the controller, clients.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import structlog

from barnabas.broker.config.broker_config import BrokerConfig
from barnabas.broker.config.changes import ConfigChanges
from barnabas.broker.config.dynamic import DynamicBrokerConfig
from barnabas.broker.config.handler import ConfigHandler
from barnabas.broker.config.topics import TopicConfigs
from barnabas.broker.disk.errors import InconsistentDirectoryError, KafkaStorageError
from barnabas.broker.disk.log_dirs import LogDirs, LogDirsOptions
from barnabas.broker.errors import StartError
from barnabas.broker.lifecycle.controlled_shutdown import ControlledShutdownSettings, shut_down_controlled
from barnabas.broker.lifecycle.descriptors import first_kept_back, most_peer_connections
from barnabas.broker.lifecycle.first_metadata import wait_for_first_metadata
from barnabas.broker.lifecycle.housekeeping import keep_logs
from barnabas.broker.lifecycle.process import BrokerProcess
from barnabas.broker.lifecycle.sockets import bind, port_of
from barnabas.broker.membership.identity import broker_id_of, new_cluster_id
from barnabas.broker.membership.leader_store import LeaderStore
from barnabas.broker.membership.log_dir_events import LogDirEvents
from barnabas.broker.membership.registration import (
    Membership,
    Registration,
    SessionListeners,
    ZooKeeperAddress,
)
from barnabas.broker.replicas.producer_ids import ProducerIdBlocks
from barnabas.broker.replicas.purgatory_metrics import show_purgatory
from barnabas.broker.replicas.service import ReplicaService
from barnabas.broker.replicas.settings import ReplicaSettings
from barnabas.broker.server.acceptor import ConnectionQuotas
from barnabas.broker.server.any_controller import AnyController
from barnabas.broker.server.clients import ClientListener
from barnabas.broker.server.context import ServerContext, ServerSettings
from barnabas.broker.server.control_door import ControlDoor
from barnabas.broker.server.metadata_purgatories import MetadataPurgatories
from barnabas.broker.server.peers import PeerServer
from barnabas.broker.server.request_meter import RequestMeter
from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.requests import LeaderAndIsrRequest
from barnabas.cluster.model.settings import settings_of
from barnabas.cluster.model.statechange.levels import Level
from barnabas.cluster.runtime.metrics import BrokerState
from barnabas.cluster.zk.errors import SessionExpired, ZooKeeperError
from barnabas.cluster.zk.operations import WatchEvent
from barnabas.cluster.zk.schema.paths import CONFIG_CHANGES
from barnabas.cluster.zk.store import ZooKeeperStore
from barnabas.controller.node import ControllerNode, ControllerSettings

_log = structlog.get_logger("kafka.server.KafkaServer")

PEERS_GRACE_S = 0.5
"""How long calls of other brokers that are under way may take once this broker stops."""

RESIGN_DEADLINE_S = 3.0
"""How long a stopping broker waits for its controller to resign; with the session its reign ends anyway."""


async def run(config: BrokerConfig) -> int:
    """Run a broker until it is asked to stop, or has to.

    Returns:
        The exit status of the process.

    Raises:
        StartError: It cannot start.
    """
    process = BrokerProcess(config)
    async with contextlib.AsyncExitStack() as stack:
        node = Node(process, stack)
        await process.until_stopped(node.start())
        await node.hand_over()
        process.became(BrokerState.SHUTTING_DOWN)
    process.became(BrokerState.NOT_RUNNING)
    _log.info("shut down completed")
    return process.exit_status


class Node:
    """The rooms of one broker.

    Args:
        process: The frame it runs in.
        stack: Closes what `start` has opened, last opened first.
    """

    def __init__(self, process: BrokerProcess, stack: contextlib.AsyncExitStack) -> None:
        self._process = process
        self._config = process.config
        self._stack = stack
        self._purgatories = MetadataPurgatories()
        self._membership = Membership(
            ZooKeeperAddress(
                self._config.zookeeper_connect,
                self._config.session_timeout_ms,
                self._config.connection_timeout_ms,
            )
        )
        self._live = DynamicBrokerConfig(self._config)
        self._leaving: Callable[[], Awaitable[object]] | None = None
        self._topic_configs = TopicConfigs(lambda: self._live.config, lambda: self._membership.store.topics)
        self._applier = ConfigHandler(self._live, self._topic_configs)

    async def start(self) -> None:
        """Open everything and serve.

        Raises:
            StartError: Something is in the way; the message says what.
        """
        self._process.became(BrokerState.STARTING)
        _log.info("starting")
        try:
            await self._start()
        except (InconsistentDirectoryError, KafkaStorageError) as error:
            raise StartError(f"Cannot use log.dirs: {error}") from error
        except ZooKeeperError as error:
            raise StartError(f"ZooKeeper failed while the broker started: {error}") from error
        self._process.became(BrokerState.RUNNING_AS_BROKER)
        # What lives now lives long: later collections need not look at it.
        gc.collect()
        gc.freeze()

    async def hand_over(self) -> None:
        """Have others lead what this broker leads, while all its rooms are open: a controlled shutdown.

        Nothing of that where it did not come to serve, or stops because a task of it died.
        """
        if self._leaving is not None and self._process.exit_status == 0:
            self._process.became(BrokerState.PENDING_CONTROLLED_SHUTDOWN)
            await self._leaving()

    async def _start(self) -> None:
        sockets = self._bind()
        frame = self._stack.enter_context(contextlib.ExitStack())
        self._process.enter(frame, self._membership.abort)
        self._stack.push_async_callback(self._process.supervisor.close, deadline_s=1.0)
        self._stack.push_async_callback(self._membership.close)
        store = await self._membership.open()
        await store.cluster.create_persistent_paths()
        cluster_id = await store.cluster.cluster_id(new_cluster_id())
        broker_id = await broker_id_of(self._config, store)
        _log.info(f"Cluster ID = {cluster_id}, broker.id = {broker_id}")
        changes = ConfigChanges(broker_id, lambda: self._membership.store.configs, self._applier, _now_ms)
        await changes.read_brokers()
        logs = await self._open_logs(broker_id, cluster_id, store)
        replicas = self._open_replicas(broker_id, logs)
        controller = self._open_controller(broker_id, replicas)
        self._applier.serve(lambda: logs.logs, controller)
        peer_port = await self._open_peers(replicas, controller)
        producer_ids = ProducerIdBlocks(
            lambda: self._membership.store.cluster.take_producer_id_block(broker_id)
        )
        await producer_ids.take_first_block()
        context = self._context(broker_id, cluster_id, replicas, controller, producer_ids)
        ports = {name: port_of(bound) for name, bound in sockets.items()}
        ports[self._config.inter_broker_listener] = peer_port
        endpoints = tuple(_bound(each, ports) for each in self._config.advertised)
        rack = self._config.text("broker.rack")
        registration = Registration(broker_id, endpoints, rack, cluster_id, lambda: logs.locks)
        await self._join(registration, replicas, controller, changes)
        keep_logs(self._process.supervisor, logs, self._config, replicas.hosted.disk_failed)
        self._process.supervisor.spawn("config-changes", changes.run())
        await wait_for_first_metadata(replicas.metadata, self._purgatories, self._config.session_timeout_ms)
        await self._open_listeners(context, sockets)
        self._leaving = partial(self._leave, replicas, context)
        _log.info(f"[KafkaServer id={broker_id}] started")

    def _bind(self) -> dict[str, socket.socket]:
        """Take the clients' ports, and see that the peers' port is free, before anything is touched."""
        sockets: dict[str, socket.socket] = {}
        for endpoint in self._config.listeners:
            bound = bind(endpoint)
            if endpoint.listener == self._config.inter_broker_listener:
                bound.close()  # gRPC binds its port itself
            else:
                sockets[endpoint.listener] = bound
                self._stack.callback(bound.close)
        return sockets

    async def _open_logs(self, broker_id: BrokerId, cluster_id: str, store: ZooKeeperStore) -> LogDirs:
        await self._topic_configs.read(sorted(await store.topics.names()))
        threads: dict[Path, Executor] = {
            path: self._stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix=f"log-dir-{path.name}"))
            for path in self._config.log_dirs
        }
        options = LogDirsOptions(
            broker_id,
            cluster_id,
            self._topic_configs.config_for,
            threads.__getitem__,
            _now_ms,
            self._config.integer("transactional.id.expiration.ms"),
            self._live.config.integer("num.recovery.threads.per.data.dir"),
        )
        opening = asyncio.ensure_future(asyncio.to_thread(LogDirs.open, self._config.log_dirs, options))
        self._stack.push_async_callback(self._close_logs, opening)
        # A broker that is stopped while it recovers waits for that, so that nothing is left half done.
        logs = await asyncio.shield(opening)
        for path, error in logs.offline.items():
            _log.error(f"The log directory {path} cannot be used; the broker serves without it: {error}")
        metrics = self._process.metrics
        metrics.watch(metrics.offline_log_directory_count, lambda: len(logs.offline))
        return logs

    async def _close_logs(self, opening: asyncio.Future[LogDirs]) -> None:
        (opened,) = await asyncio.gather(opening, return_exceptions=True)
        if not isinstance(opened, LogDirs):
            return  # whoever waited for it has heard the error
        try:
            await asyncio.to_thread(opened.close)
        except KafkaStorageError as error:
            _log.error(f"A log directory was not closed cleanly and will be recovered: {error}")

    def _open_replicas(self, broker_id: BrokerId, logs: LogDirs) -> ReplicaService:
        process, metrics = self._process, self._process.metrics

        async def read_settings(request: LeaderAndIsrRequest) -> str | None:
            named = [partition.topic_partition for partition in request.partitions]
            unknown = {tp.topic for tp in named if replicas.hosted.get(tp) is None}
            try:
                await self._topic_configs.read_new({tp.topic for tp in named}, unknown)
            except SessionExpired as error:
                # With the next session the broker registers anew, and is told everything again.
                return f"{type(error).__name__}: {error}"
            return None

        events = LogDirEvents(broker_id, lambda: self._membership.store.log_dir_events)
        replicas = ReplicaService(
            broker_id,
            logs,
            settings_of(ReplicaSettings, self._config.values),
            store=lambda: LeaderStore(self._membership.store),
            supervisor=process.supervisor,
            metrics=metrics,
            write=process.state_change_log.write,
            on_metadata=self._purgatories.changed,
            prepare=read_settings,
            on_directory_failed=events.failed,
            topics=lambda: LeaderStore(self._membership.store),
        )
        replicas.start(after_clean_stop=logs.were_clean)
        process.supervisor.spawn("log-dir-events", events.run())
        self._stack.push_async_callback(replicas.close)
        metrics.watch(metrics.live_brokers, lambda: len(replicas.metadata.live_brokers))
        show_purgatory(metrics, self._purgatories.topics)
        show_purgatory(metrics, self._purgatories.elections)
        return replicas

    def _open_controller(self, broker_id: BrokerId, replicas: ReplicaService) -> ControllerNode:
        config, process = self._config, self._process

        def learned(controller: BrokerId, epoch: ControllerEpoch) -> None:
            replicas.gate.adopt(epoch)
            replicas.metadata.controller_changed(controller if controller >= 0 else None)
            self._purgatories.controller_changed()

        controller = ControllerNode(
            settings_of(
                ControllerSettings,
                self._live.config.values,
                broker_id=broker_id,
                state_change_log_traces=config.values["state.change.log.level"] == Level.TRACE.name,
            ),
            process.supervisor,
            process.state_change_log,
            process.metrics,
            learned,
        )
        self._stack.push_async_callback(self._resign, controller)
        return controller

    async def _resign(self, controller: ControllerNode) -> None:
        try:
            async with asyncio.timeout(RESIGN_DEADLINE_S):
                await controller.stop()
        except TimeoutError:
            _log.warning(
                f"The controller did not resign within {RESIGN_DEADLINE_S:g} s; its session ends now"
            )

    async def _open_peers(self, replicas: ReplicaService, controller: ControllerNode) -> int:
        async def latest_epoch() -> ControllerEpoch:
            return await self._membership.store.controller.latest_epoch()

        write = self._process.state_change_log.write
        door = ControlDoor(replicas.hosted.broker_id, replicas.gate, write, latest_epoch)
        peers = PeerServer(
            replicas.leadership,
            replicas.sessions,
            door,
            controller.port,
            self._config.session_timeout_ms,
            ranges=replicas.ranges,
            most_connections=most_peer_connections(self._process.descriptors),
        )
        name = self._config.inter_broker_listener
        endpoint = next(each for each in self._config.listeners if each.listener == name)
        try:
            port = await peers.start(endpoint.host or "::", endpoint.port)
        except OSError as error:
            raise StartError(f"Cannot listen on {endpoint}: {error.strerror}") from error
        self._stack.push_async_callback(peers.stop, PEERS_GRACE_S)
        return port

    def _context(
        self,
        broker_id: BrokerId,
        cluster_id: str,
        replicas: ReplicaService,
        controller: ControllerNode,
        producer_ids: ProducerIdBlocks,
    ) -> ServerContext:
        any_controller = AnyController(
            broker_id, controller.port, replicas.metadata, self._config.session_timeout_ms
        )
        replicas.damaged.controller = any_controller
        return ServerContext(
            broker_id=broker_id,
            cluster_id=cluster_id,
            settings=settings_of(ServerSettings, self._config.values),
            metadata=replicas.metadata,
            purgatories=self._purgatories,
            appends=replicas.appends,
            deletes=replicas.deletes,
            reads=replicas.reads,
            controller=controller.port,
            any_controller=any_controller,
            producer_ids=producer_ids,
            meter=RequestMeter(self._process.metrics),
            topic_overrides=self._topic_configs,
            broker_settings=lambda: self._live.settings,
        )

    async def _join(
        self,
        registration: Registration,
        replicas: ReplicaService,
        controller: ControllerNode,
        changes: ConfigChanges,
    ) -> None:
        """Register, and stay registered from session to session."""

        async def joined(store: ZooKeeperStore, epoch: BrokerEpoch) -> None:
            replicas.gate.registered(epoch)
            changes.session_began()
            await controller.start(store)

        def watched(event: WatchEvent) -> None:
            if event.path == CONFIG_CHANGES:
                changes.noticed()
            else:
                controller.on_zookeeper_event(event)

        listeners = SessionListeners(watched, controller.on_session_expired, joined)
        await self._membership.join(registration, listeners)
        staying = self._process.supervisor.spawn("membership", self._membership.stay(registration))
        self._stack.callback(staying.cancel)

    async def _leave(self, replicas: ReplicaService, context: ServerContext) -> None:
        # What it is told to follow from now on it does not fetch: it would join the ISRs again.
        replicas.leadership.close()
        await shut_down_controlled(
            context.broker_id,
            lambda: replicas.gate.broker_epoch,
            context.any_controller,
            settings_of(ControlledShutdownSettings, self._config.values),
        )

    async def _open_listeners(self, context: ServerContext, sockets: dict[str, socket.socket]) -> None:
        quotas = ConnectionQuotas(lambda: context.max_connections, first_kept_back(self._process.descriptors))
        listeners = [ClientListener(context, quotas, name) for name in sockets]
        metrics = self._process.metrics
        metrics.watch(metrics.connection_count, lambda: sum(each.connection_count for each in listeners))
        metrics.watch(metrics.memory_pool_available, lambda: context.requests.available)
        metrics.watch(metrics.memory_pool_used, lambda: context.requests.used)
        metrics.watch(metrics.answer_bytes, lambda: context.answers.used)
        for listener, bound in zip(listeners, sockets.values(), strict=True):
            listener.start_on(bound)
            self._stack.push_async_callback(listener.stop)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _bound(endpoint: Endpoint, ports: dict[str, int]) -> Endpoint:
    """``endpoint`` with the port that is bound in the place of 0."""
    return endpoint if endpoint.port else replace(endpoint, port=ports[endpoint.listener])
