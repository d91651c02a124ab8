"""What AlterConfigs and IncrementalAlterConfigs have in common: who may be asked for what, and the answer.

As in Kafka any broker takes alterations of topics and of the cluster's default, and a broker those of its own
settings; clients send them so. They are carried out by the controller, wherever it is. Source:
``KafkaApis.handleAlterConfigsRequest``, ``ZkAdminManager.getBrokerId`` of release 2.8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from barnabas.broker.replicas.turn import freed_in_turns, paced
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.server.portions import Patience, submit
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.commands.command import Command, Refused
from barnabas.cluster.model.commands.configs import (
    MAX_SETTINGS,
    AlterConfigsResult,
    ConfigResource,
    ConfigResourceType,
    ResourceResult,
)
from barnabas.cluster.model.errors import ErrorCode

W = TypeVar("W")

_Named = tuple[int, str]
"""A resource as the request names it: the number of its type, which may be unknown, and its name."""


class BadAlterationError(Exception):
    """A resource cannot be altered as it is asked; the text says why. ``INVALID_REQUEST``."""


async def alter(
    context: ServerContext,
    request: Request,
    response: str,
    wanted: Callable[[Any], W],
    command: Callable[[dict[ConfigResource, W], bool], Command[AlterConfigsResult]],
) -> Answer:
    """Have the controller alter what ``request`` names; of a resource named twice the last word holds.

    Args:
        context: The broker.
        request: An AlterConfigs or IncrementalAlterConfigs request.
        response: The name of its answer.
        wanted: What is asked of one resource of the request; raises ``BadAlterationError``.
        command: The command, from what is asked of each resource and whether it is only to be checked.
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
            asked[resource] = wanted(each)
        except BadAlterationError as error:
            errors[name] = ErrorCode.INVALID_REQUEST, str(error)
    if asked:
        async for portion, told in submit(
            context.any_controller,
            tuple(asked),
            lambda some: command({each: asked[each] for each in some}, request.body.validate_only),
            Patience(context.settings.request_timeout_ms),
        ):
            results = told.resources if isinstance(told, AlterConfigsResult) else _all_refused(told, portion)
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
