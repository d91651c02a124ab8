"""The first phase of a broker: its ports, its ZooKeeper session, its ids, its settings and its logs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from barnabas.broker.authorizer.audit import LOGGER
from barnabas.broker.authorizer.authorizer import AclAuthorizer
from barnabas.broker.config.broker_config import BrokerConfig
from barnabas.broker.config.changes import ConfigChanges
from barnabas.broker.config.dynamic import DynamicBrokerConfig
from barnabas.broker.config.handler import ConfigHandler
from barnabas.broker.config.start_error import StartError
from barnabas.broker.config.topics import TopicConfigs
from barnabas.broker.core.quotas.replication_quota import QuotaWindows
from barnabas.broker.disk.directory.log_dirs import LogDirs, LogDirsOptions
from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.disk.log.flushing import FLUSH_STATS
from barnabas.broker.lifecycle.process import BrokerProcess
from barnabas.broker.lifecycle.sockets import bind
from barnabas.broker.membership.identity import broker_id_of, new_cluster_id
from barnabas.broker.membership.registration import Membership, ZooKeeperAddress
from barnabas.broker.node.tls import open_tls, reload
from barnabas.cluster.model.configs.authorizer import rules_of
from barnabas.cluster.model.configs.declarations import ConfigError, Value
from barnabas.cluster.model.configs.settings import settings_of
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.runtime.logs import set_up_authorizer_log
from barnabas.cluster.runtime.wall_clock import wall_ms
from barnabas.cluster.zk.client.client_settings import ZooKeeperSecurityError, security_of

if TYPE_CHECKING:
    from barnabas.broker.server.security.listener_tls import ListenerTls

_log = structlog.get_logger("kafka.server.KafkaServer")
_config_log = structlog.get_logger("kafka.server.KafkaConfig")


@dataclass(frozen=True, slots=True)
class Storage:
    """The resources that the first phase has opened.

    Attributes:
        sockets: The bound sockets of the client listeners, by listener name.
        membership: The ZooKeeper sessions.
        broker_id: The broker's id.
        cluster_id: The content of ``/cluster/id``.
        live: The broker's settings in force.
        topic_configs: The settings of topics.
        config_handler: Applies changed settings to open logs.
        config_changes: Reads change notifications.
        logs: The log directories.
        authorizer: Decides what clients may do; None if everybody may do everything.
        tls: The TLS of the listeners that use it, by listener name.
    """

    sockets: dict[str, socket.socket]
    membership: Membership
    broker_id: BrokerId
    cluster_id: str
    live: DynamicBrokerConfig
    topic_configs: TopicConfigs
    config_handler: ConfigHandler
    config_changes: ConfigChanges
    logs: LogDirs
    authorizer: AclAuthorizer | None
    tls: Mapping[str, ListenerTls]


async def open_storage(process: BrokerProcess, stack: contextlib.AsyncExitStack) -> Storage:
    """Open everything that the broker needs before it may talk to others.

    Args:
        process: The frame of the process, which begins here.
        stack: Takes the callbacks that close all of it.

    Raises:
        StartError: A store of TLS cannot be used, a port is in use, ZooKeeper is not reachable or its
            security badly set, or ``broker.id`` cannot be determined.
        ZooKeeperError: ZooKeeper failed afterwards.
        InconsistentDirectoryError: A log directory belongs to another broker or cluster.
        KafkaStorageError: No log directory can be used.
    """
    config = process.config
    tls = open_tls(config)
    sockets = bind_listeners(config, stack)
    membership = Membership(_zookeeper(config))
    process.enter(stack.enter_context(contextlib.ExitStack()), membership.abort)
    stack.push_async_callback(process.supervisor.close, deadline_s=1.0)
    stack.push_async_callback(membership.close)
    store = await membership.open()
    await store.cluster.create_persistent_paths()
    cluster_id = await store.cluster.cluster_id(new_cluster_id())
    broker_id = await broker_id_of(config, store)
    _log.info(f"Cluster ID = {cluster_id}, broker.id = {broker_id}")
    live = DynamicBrokerConfig(config)
    topic_configs = TopicConfigs(lambda: live.config, lambda: membership.store.topics)
    config_handler = ConfigHandler(live, topic_configs)
    config_handler.tls = tls.values()
    config_handler.throttles.measure_over(settings_of(QuotaWindows, config.values))
    config_changes = ConfigChanges(
        broker_id,
        lambda: membership.store.configs,
        lambda: membership.store.quotas,
        config_handler,
        wall_ms,
    )
    await config_changes.read_brokers()
    await reload(tls.values())
    log_values(live.config)
    await topic_configs.read(sorted(await store.topics.names()))
    threads = _threads(config, stack)
    options = LogDirsOptions(
        broker_id,
        cluster_id,
        topic_configs.config_for,
        threads.__getitem__,
        wall_ms,
        config.integer("producer.id.expiration.ms", "transactional.id.expiration.ms"),
        live.config.integer("num.recovery.threads.per.data.dir"),
    )
    logs = await _open_logs(config, options, stack)
    process.metrics.watch(process.metrics.zookeeper_connected, lambda: membership.is_connected)
    FLUSH_STATS.on_flushed = process.metrics.log_flush_time_ms.observe
    process.metrics.watch(process.metrics.offline_log_directory_count, lambda: len(logs.offline))
    authorizer = await _authorizer(config, membership)
    settings = (live, topic_configs, config_handler, config_changes)
    return Storage(sockets, membership, broker_id, cluster_id, *settings, logs, authorizer, tls)


def _threads(config: BrokerConfig, stack: contextlib.AsyncExitStack) -> dict[Path, Executor]:
    """Return a thread for each log directory."""
    return {
        path: stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix=f"log-dir-{path.name}"))
        for path in config.log_dirs
    }


def _zookeeper(config: BrokerConfig) -> ZooKeeperAddress:
    """Return the address of ZooKeeper with the security of the sessions.

    Raises:
        StartError: The settings of the security, or the JAAS file, are bad.
    """
    try:
        security = security_of(config.given, os.environ)
    except (ConfigError, ZooKeeperSecurityError) as error:
        raise StartError(str(error)) from error
    timeouts = (config.session_timeout_ms, config.connection_timeout_ms)
    waits = config.flag("zookeeper.connection.wait")
    return ZooKeeperAddress(config.zookeeper_connect, *timeouts, security, waits)


async def _authorizer(config: BrokerConfig, membership: Membership) -> AclAuthorizer | None:
    """Return the authorizer with all ACLs loaded, because it must not decide before; None without one.

    Raises:
        ZooKeeperError: The ACLs cannot be read.
    """
    if not config.text("authorizer.class.name"):
        return None
    set_up_authorizer_log(config.logs_dir, LOGGER, str(config.text("authorizer.log.level")))
    rules = rules_of(
        config.text("super.users") or "", allow_if_none=config.flag("allow.everyone.if.no.acl.found")
    )
    authorizer = AclAuthorizer(lambda: membership.store.acls, rules, wall_ms)
    await authorizer.load()
    return authorizer


def log_values(config: BrokerConfig) -> None:
    """Log the value of every setting, as ``AbstractConfig.logAll`` does; a secret shows as ``[hidden]``."""
    lines = (f"\t{name} = {_as_java(value)}\n" for name, value in sorted(config.values.items()))
    _config_log.info(f"KafkaConfig values: \n{''.join(lines)}")


def _as_java(value: Value) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case tuple():
            return f"[{', '.join(value)}]"
    return str(value)


def bind_listeners(config: BrokerConfig, stack: contextlib.AsyncExitStack) -> dict[str, socket.socket]:
    """Bind the ports of client listeners, and check that the port for other brokers is free.

    Raises:
        StartError: A port is in use.
    """
    sockets: dict[str, socket.socket] = {}
    for endpoint in config.listeners:
        bound = bind(endpoint)
        if endpoint.listener == config.inter_broker_listener:
            bound.close()  # gRPC binds its port itself
        else:
            sockets[endpoint.listener] = bound
            stack.callback(bound.close)
    return sockets


async def _open_logs(
    config: BrokerConfig, options: LogDirsOptions, stack: contextlib.AsyncExitStack
) -> LogDirs:
    opening = asyncio.ensure_future(asyncio.to_thread(LogDirs.open, config.log_dirs, options))
    stack.push_async_callback(_close_logs, opening)
    # A broker that is stopped during recovery waits for its end, so that no recovery is left half done.
    logs = await asyncio.shield(opening)
    for path, error in logs.offline.items():
        _log.error(f"The log directory {path} cannot be used; the broker serves without it: {error}")
    return logs


async def _close_logs(opening: asyncio.Future[LogDirs]) -> None:
    (opened,) = await asyncio.gather(opening, return_exceptions=True)
    if not isinstance(opened, LogDirs):
        return  # `_open_logs` has raised the error
    try:
        await asyncio.to_thread(opened.close)
    except KafkaStorageError as error:
        _log.error(f"A log directory was not closed cleanly and will be recovered: {error}")
