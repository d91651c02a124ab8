"""The phases of a broker, from the first bound port to the closed log.

The order is that of ``KafkaServer.startup`` of release 2.8. Whatever a phase opens, it also puts on the exit
stack, so the shutdown closes everything in the opposite order.
"""

from __future__ import annotations

import contextlib
import gc

import structlog

from barnabas.broker.config.broker_config import BrokerConfig
from barnabas.broker.config.start_error import StartError
from barnabas.broker.disk.errors import InconsistentDirectoryError, KafkaStorageError
from barnabas.broker.lifecycle.controlled_shutdown import ControlledShutdownSettings, shut_down_controlled
from barnabas.broker.lifecycle.first_metadata import wait_for_first_metadata
from barnabas.broker.lifecycle.housekeeping import keep_logs
from barnabas.broker.lifecycle.process import BrokerProcess
from barnabas.broker.membership.registration import Membership
from barnabas.broker.node.open import open_storage
from barnabas.broker.node.register import register
from barnabas.broker.node.replicate import Replication, open_replication
from barnabas.broker.node.serve import serve_clients
from barnabas.broker.node.tls import keep_stores
from barnabas.broker.server.metadata_purgatories import MetadataPurgatories
from barnabas.cluster.model.configs.settings import settings_of
from barnabas.cluster.runtime.metrics import BrokerState
from barnabas.cluster.zk.client.errors import ZooKeeperError

_log = structlog.get_logger("kafka.server.KafkaServer")


async def run(config: BrokerConfig) -> int:
    """Run a broker until a signal or an error stops it.

    Returns:
        The exit status of the process.

    Raises:
        StartError: It cannot start.
    """
    process = BrokerProcess(config)
    async with contextlib.AsyncExitStack() as stack:
        node = Node(process, stack)
        await process.until_stopped(node.start())
        await node.leave()
        process.became(BrokerState.SHUTTING_DOWN)
    process.became(BrokerState.NOT_RUNNING)
    _log.info("shut down completed")
    return process.exit_status


class Node:
    """One broker in its process.

    Args:
        process: The frame of the process.
        stack: Takes the callbacks that close what `start` opens.
    """

    def __init__(self, process: BrokerProcess, stack: contextlib.AsyncExitStack) -> None:
        self._process = process
        self._stack = stack
        self._serving: tuple[Membership, Replication] | None = None

    async def start(self) -> None:
        """Go through all phases, until clients are served.

        Raises:
            StartError: A phase failed; the message says why.
        """
        self._process.became(BrokerState.STARTING)
        _log.info("starting")
        try:
            self._serving = await self._start()
        except (InconsistentDirectoryError, KafkaStorageError) as error:
            raise StartError(f"Cannot use log.dirs: {error}") from error
        except ZooKeeperError as error:
            raise StartError(f"ZooKeeper failed while the broker started: {error}") from error
        self._process.became(BrokerState.RUNNING_AS_BROKER)

    async def leave(self) -> None:
        """Move this broker's leaders to other brokers by a controlled shutdown, before anything closes.

        A broker that did not come to serve, or stops because a task died, does not try.
        """
        if self._serving is None or self._process.exit_status != 0:
            return
        self._process.became(BrokerState.PENDING_CONTROLLED_SHUTDOWN)
        membership, replication = self._serving
        replicas = replication.replicas
        # A partition that the controller moves away must not be fetched, or the replica joins the ISR again.
        replicas.control_requests.close()
        await shut_down_controlled(
            replicas.hosted.broker_id,
            lambda: replicas.gate.broker_epoch,
            replication.any_controller,
            settings_of(ControlledShutdownSettings, self._process.config.values),
            is_connected=lambda: membership.is_connected,
        )

    async def _start(self) -> tuple[Membership, Replication]:
        process, purgatories = self._process, MetadataPurgatories()
        storage = await open_storage(process, self._stack)
        replication = await open_replication(storage, purgatories, process, self._stack)
        replicas = replication.replicas
        # The objects made until now live as long as the process: no later collection needs to visit them. The
        # collection takes 30 to 40 ms, and nobody waits yet.
        gc.collect()
        gc.freeze()
        await register(storage, replication, process, self._stack)
        keep_logs(process.supervisor, storage.logs, process.config, replicas.hosted.disk_failed)
        process.supervisor.spawn("config-changes", storage.config_changes.run())
        if storage.authorizer is not None:
            process.supervisor.spawn("acl-changes", storage.authorizer.run())
        if storage.tls:
            process.supervisor.spawn("tls-stores", keep_stores(storage.tls.values()))
        await wait_for_first_metadata(replicas.metadata, purgatories, process.config.session_timeout_ms)
        await serve_clients(storage, replication, purgatories, process, self._stack)
        _log.info(f"[KafkaServer id={storage.broker_id}] started")
        return storage.membership, replication
