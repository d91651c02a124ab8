"""The common part of AlterConfigs and IncrementalAlterConfigs: the permitted resources, and the answer.

As in Kafka, any broker accepts changes of topics and of the cluster's default. Changes of one broker's
settings are accepted by that broker only, and clients send them there. The active controller, wherever it
is, makes the changes.
Source: ``KafkaApis.handleAlterConfigsRequest``, ``ZkAdminManager.getBrokerId`` of release 2.8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.server.portions import RequestDeadline, submit
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.commands.command import Command, Refused
from barnabas.cluster.model.commands.configs import (
    MAX_SETTINGS,
    AlterConfigsResult,
    ConfigOperation,
    ConfigResource,
    ConfigResourceType,
    ResourceResult,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.runtime.turn import freed_in_turns, paced

W = TypeVar("W")

_Named = tuple[int, str]
"""A resource in a request: the number of its type, which may be unknown, and its name."""


class BadAlterationError(Exception):
    """An error of a change that cannot be made (``INVALID_REQUEST``); the text says why."""


async def alter(
    context: ServerContext,
    request: Request,
    response: str,
    wanted: Callable[[Any], W],
    command: Callable[[dict[ConfigResource, W], bool], Command[AlterConfigsResult]],
) -> Answer:
    """Let the controller change the resources in ``request``; if one is named twice the last entry counts.

    Args:
        context: The broker.
        request: An AlterConfigs or IncrementalAlterConfigs request.
        response: The name of its answer.
        wanted: Returns the changes of one resource in the request; raises ``BadAlterationError``.
        command: Builds the command from the changes of each resource and whether they are only validated.
    """
    named = {(each.resource_type, each.resource_name): each async for each in paced(request.body.resources)}
    errors: dict[_Named, tuple[ErrorCode, str | None]] = {}
    asked: dict[ConfigResource, W] = {}
    async for name, each in paced(named.items()):
        try:
            resource = _resource(context, *name)
            if len(each.configs) > MAX_SETTINGS:
                raise BadAlterationError(
                    f"Cannot alter {len(each.configs)} settings at once; expected {MAX_SETTINGS} at most"
                )
            change = wanted(each)
            await _check_stores(context, resource, change)
            asked[resource] = change
        except BadAlterationError as error:
            errors[name] = ErrorCode.INVALID_REQUEST, str(error)
    if asked:
        # Each portion is a command of its own, so that the controller may handle other events in between.
        async for portion, outcome in submit(
            context.any_controller,
            tuple(asked),
            lambda some: command({each: asked[each] for each in some}, request.body.validate_only),
            RequestDeadline(context.settings.request_timeout_ms),
        ):
            results = (
                outcome.resources
                if isinstance(outcome, AlterConfigsResult)
                else _all_refused(outcome, portion)
            )
            errors |= {
                (each.resource.type, each.resource.name): (each.error, each.message) for each in results
            }
    responses = [
        request.answer(
            "AlterConfigsResourceResponse",
            error_code=errors[name][0],
            error_message=errors[name][1],
            resource_type=name[0],
            resource_name=name[1],
        )
        async for name in paced(named)
    ]
    await freed_in_turns(named, errors, asked)
    return request.answer(response, throttle_time=NO_THROTTLE, responses=tuple(responses))


async def _check_stores(context: ServerContext, resource: ConfigResource, change: object) -> None:
    """Check the stores of TLS that this broker would use; others than this broker cannot read them.

    Raises:
        BadAlterationError: They cannot be used.
    """
    if context.refusal_of_stores is None or resource != (ConfigResourceType.BROKER, str(context.broker_id)):
        return
    settings = _altered(context.broker_settings().dynamic, change)
    refusal = await asyncio.to_thread(context.refusal_of_stores, settings)
    if refusal is not None:
        raise BadAlterationError(f"Invalid config value for resource {resource}: {refusal}")


def _altered(own: Mapping[str, str], change: object) -> Mapping[str, str]:
    """Return the settings after a change: all of them, or steps, which set and delete settings of stores."""
    if isinstance(change, Mapping):
        return change
    after = dict(own)
    for step in change if isinstance(change, tuple) else ():
        if step.operation is ConfigOperation.SET:
            after[step.name] = step.value
        elif step.operation is ConfigOperation.DELETE:
            after.pop(step.name, None)
    return after


def _resource(context: ServerContext, type_: int, name: str) -> ConfigResource:
    if type_ == ConfigResourceType.TOPIC:
        return ConfigResource(ConfigResourceType.TOPIC, name)
    if type_ != ConfigResourceType.BROKER:
        raise BadAlterationError(
            f"AlterConfigs is only supported for topics and brokers, but resource type is {type_}"
        )
    if name and not name.isdecimal():
        raise BadAlterationError(f"Broker id must be an integer, but it is: {name}")
    if name and int(name) != context.broker_id:
        raise BadAlterationError(f"Unexpected broker id, expected {context.broker_id}, but received {name}")
    return ConfigResource(ConfigResourceType.BROKER, name)


def _all_refused(refusal: Refused, asked: Iterable[ConfigResource]) -> tuple[ResourceResult, ...]:
    return tuple(ResourceResult(each, refusal.error, refusal.message) for each in asked)
