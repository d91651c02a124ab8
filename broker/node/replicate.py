"""The second phase of a broker: its replicas, its controller, and the gRPC server for other brokers."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass

import structlog

from barnabas.broker.config.broker_config import BrokerConfig
from barnabas.broker.config.start_error import StartError
from barnabas.broker.coordinator.coordinator import GroupCoordinator
from barnabas.broker.lifecycle.descriptors import most_peer_connections
from barnabas.broker.lifecycle.process import BrokerProcess
from barnabas.broker.node.groups import open_groups
from barnabas.broker.node.open import Storage
from barnabas.broker.node.peer_tls import PeerTls, open_peer_tls, peer_access, warn_of_open_port
from barnabas.broker.node.replicas import open_replicas
from barnabas.broker.replicas.producer_ids import ProducerIdBlocks
from barnabas.broker.replicas.service import ReplicaService
from barnabas.broker.server.metadata_purgatories import MetadataPurgatories
from barnabas.broker.server.peers.any_controller import AnyController
from barnabas.broker.server.peers.control_check import ControlRequestCheck
from barnabas.broker.server.peers.peers import PeerServer
from barnabas.cluster.model.configs.settings import settings_of
from barnabas.cluster.model.epochs import ControllerEpoch
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.statechange.levels import Level
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
    replicas = open_replicas(storage, purgatories, process, stack)
    controller = _open_controller(storage, replicas, purgatories, process)
    stack.push_async_callback(resign, controller)
    any_controller = AnyController(
        storage.broker_id, controller.port, replicas.metadata, config.session_timeout_ms
    )
    replicas.damaged.controller = any_controller
    storage.config_handler.serve(lambda: storage.logs.logs, controller)
    groups = open_groups(replicas, any_controller, purgatories, process, stack)
    peers = _peers(storage, replicas, controller, process, tls)
    peer_port = await _listen(peers, config)
    stack.push_async_callback(peers.stop, PEERS_GRACE_S)
    producer_ids = ProducerIdBlocks(
        lambda: storage.membership.store.cluster.take_producer_id_block(storage.broker_id)
    )
    await producer_ids.take_first_block()
    return Replication(replicas, controller, any_controller, producer_ids, groups, peer_port)


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
