"""DescribeConfigs (32): the settings of topics and of this broker, with the sources of their values.

There are no loggers to describe. Sources: ``KafkaApis.handleDescribeConfigsRequest`` and ``ConfigHelper`` of
release 2.8; KIP-133, KIP-226, KIP-569.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any

import structlog

from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.server.portions import portions
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.configs.declarations import ConfigError, Type
from barnabas.cluster.model.configs.described import (
    ConfigSource,
    DescribedConfig,
    describe_broker,
    describe_brokers_default,
    describe_topic,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.topic_names import fault
from barnabas.cluster.runtime.line_limit import LINES
from barnabas.cluster.runtime.turn import Turn, freed_in_turns, paced, unique
from barnabas.cluster.zk.client.errors import ZooKeeperError

_log = structlog.get_logger(__name__)


class _ResourceType(IntEnum):
    TOPIC = 2
    BROKER = 4


_TYPE_NUMBERS = {
    Type.BOOLEAN: 1,
    Type.STRING: 2,
    Type.INT: 3,
    Type.SHORT: 4,
    Type.LONG: 5,
    Type.DOUBLE: 6,
    Type.LIST: 7,
    Type.PASSWORD: 9,
}
_UNKNOWN_TYPE = 0


_Overrides = Mapping[str, Mapping[str, str] | None]
"""The settings that each known topic among the resources overrides; None if ZooKeeper is unreachable."""


class _RefusedError(Exception):
    """An error of a resource that is not described."""

    def __init__(self, error: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error = error
        self.message = message


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return the settings of each resource, in the order of the request, or an error.

    A resource that is named twice is answered once, so that no small request has an enormous answer.
    """
    named = {(e.resource_type, e.resource_name): e async for e in paced(request.body.resources)}
    results: list[Answer] = []
    for resources in portions(named.values()):
        results += await _describe_all(context, request, resources)
    await freed_in_turns(named)
    return request.answer("DescribeConfigsResponse", throttle_time=NO_THROTTLE, results=tuple(results))


async def _describe_all(context: ServerContext, request: Request, resources: Iterable[Any]) -> list[Answer]:
    """Return the results of some of the resources, whose settings are read together."""
    overrides = await _read_overrides(context, resources)
    results, turn = [], Turn()
    for resource in resources:
        await turn.yield_if_long()
        error, message = ErrorCode.NONE, None
        described: Iterable[DescribedConfig] = ()
        try:
            described = await _asked_keys(resource, _describe(context, resource, overrides))
        except _RefusedError as refused:
            error, message = refused.error, refused.message
        results.append(
            request.answer(
                "DescribeConfigsResult",
                error_code=error,
                error_message=message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                configs=tuple(_config(request, each) for each in described),
            )
        )
    return results


async def _read_overrides(context: ServerContext, resources: Iterable[Any]) -> _Overrides:
    known = {
        resource.resource_name
        for resource in resources
        if resource.resource_type == _ResourceType.TOPIC
        and context.metadata.partitions(resource.resource_name)
    }
    if not known:
        return {}
    try:
        found = await context.topic_overrides.overrides(sorted(known))
    except ZooKeeperError as error:
        if LINES.allow("the settings of topics cannot be described"):
            _log.warning(f"The settings of {len(known)} topics cannot be described: {error}")
        return dict.fromkeys(known)
    return {topic: found.get(topic, {}) for topic in known}


def _describe(context: ServerContext, resource: Any, overrides: _Overrides) -> tuple[DescribedConfig, ...]:
    match resource.resource_type:
        case _ResourceType.TOPIC:
            return _describe_topic(context, resource.resource_name, overrides)
        case _ResourceType.BROKER:
            return _describe_broker(context, resource.resource_name)
        case other:
            raise _RefusedError(
                ErrorCode.INVALID_REQUEST,
                f"Unsupported resource type {other} of resource '{resource.resource_name}'; expected 2, a "
                f"topic, or 4, a broker",
            )


def _describe_topic(context: ServerContext, name: str, overrides: _Overrides) -> tuple[DescribedConfig, ...]:
    wrong = fault(name)
    if wrong is not None:
        raise _RefusedError(ErrorCode.INVALID_TOPIC_EXCEPTION, wrong)
    if name not in overrides:
        raise _RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{name}' is not known here")
    own = overrides[name]
    if own is None:
        raise _RefusedError(
            ErrorCode.REQUEST_TIMED_OUT, f"ZooKeeper did not give the settings of topic '{name}'"
        )
    try:
        return describe_topic(context.broker_settings(), own)
    except ConfigError as error:
        raise _RefusedError(ErrorCode.INVALID_CONFIG, f"Topic '{name}': {error}") from error


def _describe_broker(context: ServerContext, name: str) -> tuple[DescribedConfig, ...]:
    """Return this broker's settings; the empty name means the dynamic defaults of all brokers."""
    if not name:
        return describe_brokers_default(context.broker_settings())
    if name != str(context.broker_id):
        raise _RefusedError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {context.broker_id} or empty string, but received {name}",
        )
    return describe_broker(context.broker_settings())


async def _asked_keys(resource: Any, described: Iterable[DescribedConfig]) -> Iterable[DescribedConfig]:
    """Return the requested keys; all if the request has none (release 2.8 treats [] as null)."""
    keys = await unique(resource.configuration_keys or ())
    return [each for each in described if not keys or each.name in keys]


def _config(request: Request, described: DescribedConfig) -> Answer:
    config, body = described.config, request.body
    wants_documentation = config is not None and getattr(body, "include_documentation", False)
    synonyms = [
        request.answer("DescribeConfigsSynonym", name=each.name, value=each.value, source=each.source)
        for each in (described.synonyms if getattr(body, "include_synonyms", False) else ())
    ]
    return request.answer(
        "DescribeConfigsResourceResult",
        name=described.name,
        value=described.value,
        read_only=described.read_only,
        is_default=described.source is ConfigSource.DEFAULT_CONFIG,  # version 0 has no sources
        config_source=described.source,
        is_sensitive=described.is_sensitive,
        synonyms=tuple(synonyms),
        config_type=_UNKNOWN_TYPE if config is None else _TYPE_NUMBERS[config.kafka_type],
        documentation=config.doc if config is not None and wants_documentation else None,
    )
