"""The last phase of a broker's start: the listeners for clients."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from functools import partial

import structlog

from barnabas.broker.core.sasl.authentication import Mechanism
from barnabas.broker.core.sasl.bearer_tokens import UnsecuredOptions
from barnabas.broker.lifecycle.descriptors import first_kept_back, guaranteed_to_clients
from barnabas.broker.lifecycle.process import BrokerProcess
from barnabas.broker.node.open import Storage
from barnabas.broker.node.replicate import Replication
from barnabas.broker.node.tls import refusal_of
from barnabas.broker.server.context import ServerContext, ServerSettings
from barnabas.broker.server.gates.table import guarded
from barnabas.broker.server.metadata_purgatories import MetadataPurgatories
from barnabas.broker.server.network.acceptor import ConnectionQuotas
from barnabas.broker.server.network.clients import ClientListener
from barnabas.broker.server.network.connection_limits import limits_of
from barnabas.broker.server.network.registry import HANDLERS
from barnabas.broker.server.quotas import ClientQuotas, DefaultRates, QuotaMetrics
from barnabas.broker.server.request_meter import RequestMeter
from barnabas.broker.server.security.key_source import KeySource
from barnabas.broker.server.security.listener_security import ListenerSecurity
from barnabas.broker.server.security.mechanisms import mechanisms_of
from barnabas.broker.server.security.signed_tokens import KeySet, SignedOptions
from barnabas.cluster.model.client_quotas import connection_rate_of
from barnabas.cluster.model.configs.declarations import UNLIMITED_LONG
from barnabas.cluster.model.configs.settings import settings_of

_log = structlog.get_logger("kafka.server.KafkaServer")


async def serve_clients(
    storage: Storage,
    replication: Replication,
    purgatories: MetadataPurgatories,
    process: BrokerProcess,
    stack: contextlib.AsyncExitStack,
) -> None:
    """Accept clients on all listeners but the one between brokers."""
    context = _context(storage, replication, purgatories, process)
    limit = process.descriptors
    quotas = ConnectionQuotas(
        lambda: limits_of(context.broker_settings(), storage.sockets),
        first_kept_back(limit),
        guaranteed_to_clients(limit),
        ip_rate=partial(connection_rate_of, storage.config_handler.quotas),
        windows=context.settings.quota_windows,
        window_ms=context.settings.quota_window_s * 1000,
    )
    security = process.config.security
    if any(each.mechanisms for each in security.values()):
        # A client whose credential was not read yet would be refused, and would give up.
        await storage.config_changes.caught_up()
    keys = await _keys(security.values(), process)
    handlers = HANDLERS if context.authorizer is None else guarded(HANDLERS)
    listeners = [
        ClientListener(
            context,
            quotas,
            name,
            handlers,
            mechanisms=_mechanisms(storage, security[name], keys),
            tls=storage.tls.get(name),
        )
        for name in storage.sockets
    ]
    metrics = process.metrics
    metrics.watch(metrics.connection_count, lambda: sum(each.connection_count for each in listeners))
    metrics.watch(metrics.memory_pool_available, lambda: context.requests.available)
    metrics.watch(metrics.memory_pool_used, lambda: context.requests.used)
    metrics.watch(metrics.fetch_sessions, lambda: len(context.fetch_sessions))
    metrics.watch(metrics.fetch_session_partitions, lambda: context.fetch_sessions.partition_count)
    context.fetch_sessions.on_evicted = metrics.fetch_session_evictions.inc
    metrics.registry.register(QuotaMetrics(context.quotas))
    metrics.watch(metrics.answer_bytes, lambda: context.answers.used)
    for listener, bound in zip(listeners, storage.sockets.values(), strict=True):
        listener.start_on(bound)
        stack.push_async_callback(listener.stop)


async def _keys(
    security: Collection[ListenerSecurity], process: BrokerProcess
) -> Mapping[SignedOptions, KeySet]:
    """Start reading the keys of signed tokens periodically; return the key sets by their options.

    If they cannot be read now, the broker serves without them: no token is valid until they are.
    """
    settings = [each for listener in security for each in listener.mechanisms.values()]
    if any(isinstance(each.tokens, UnsecuredOptions) for each in settings):
        _log.warning("OAUTHBEARER takes unsecured tokens: every client may call itself what it likes")
    sources = {
        each.tokens: KeySource(each.tokens.url, each.tokens.refresh_ms)
        for each in settings
        if isinstance(each.tokens, SignedOptions)
    }
    for options, source in sources.items():
        process.supervisor.spawn(f"keys of {options.url}", source.run())
        await source.tried()
    return {options: source.keys for options, source in sources.items()}


def _mechanisms(
    storage: Storage, security: ListenerSecurity, keys: Mapping[SignedOptions, KeySet]
) -> Mapping[str, Mechanism] | None:
    """Return the SASL mechanisms of a listener; None if it has no SASL."""
    if not security.mechanisms:
        return None
    return mechanisms_of(security.mechanisms, storage.config_handler.credentials, keys)


def _context(
    storage: Storage, replication: Replication, purgatories: MetadataPurgatories, process: BrokerProcess
) -> ServerContext:
    replicas = replication.replicas
    settings = settings_of(ServerSettings, process.config.values)
    return ServerContext(
        broker_id=storage.broker_id,
        cluster_id=storage.cluster_id,
        settings=settings,
        metadata=replicas.metadata,
        purgatories=purgatories,
        appends=replicas.appends,
        deletes=replicas.deletes,
        reads=replicas.reads,
        log_dirs=replicas.log_dirs,
        controller=replication.controller.port,
        any_controller=replication.any_controller,
        producer_ids=replication.producer_ids,
        meter=RequestMeter(process.metrics),
        topic_overrides=storage.topic_configs,
        broker_settings=lambda: storage.live.settings,
        groups=replication.groups,
        quotas=_quotas_of_clients(storage, settings),
        quota_store=lambda: storage.membership.store.quotas,
        consumer_offsets=lambda: storage.membership.store.consumer_offsets,
        await_propagation=replication.controller.await_propagation,
        authorizer=storage.authorizer,
        refusal_of_stores=partial(refusal_of, storage.tls.values()) if storage.tls else None,
    )


def _quotas_of_clients(storage: Storage, settings: ServerSettings) -> ClientQuotas:
    def rate(default: int) -> float | None:
        return None if default == UNLIMITED_LONG else float(default)

    return ClientQuotas(
        storage.config_handler.quotas,
        settings.quota_windows,
        settings.quota_window_s,
        DefaultRates(rate(settings.quota_producer_default), rate(settings.quota_consumer_default)),
    )
