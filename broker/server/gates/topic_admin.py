"""Gates of CreateTopics, DeleteTopics and CreatePartitions.

Source: ``KafkaApis`` of Kafka 2.8. A broker that is not the controller answers with that first, as in
Kafka; the topics that the client may not change do not reach the controller in either case.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from barnabas.broker.server.access import access_of, counted
from barnabas.broker.server.context import Answer, Handler, ServerContext
from barnabas.broker.server.handlers.delete_topics import FIRST_WITH_DISABLED, FIRST_WITH_STATES
from barnabas.broker.wire.frames import Body, Request
from barnabas.cluster.model.acls import AclOperation, ResourceType
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.runtime.turn import paced, sorted_in_turns

_TOPIC = ResourceType.TOPIC
_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_CONFIGS_SINCE = 5


def _refusal(context: ServerContext, message: str) -> tuple[ErrorCode, str]:
    if context.metadata.controller != context.broker_id:
        return ErrorCode.NOT_CONTROLLER, "This is not the correct controller for this cluster."
    return _DENIED, message


async def create_topics(context: ServerContext, request: Request, handler: Handler) -> Answer:
    """Require CREATE on the cluster or the topic; the topic's settings are shown with DESCRIBE_CONFIGS."""
    access, body = access_of(context, request), request.body
    names = [topic.name async for topic in paced(body.topics)]
    denied: frozenset[str] = frozenset()
    if not access.cluster(AclOperation.CREATE, log_denied=False):
        denied = await access.denied(AclOperation.CREATE, _TOPIC, names)
    hidden: frozenset[str] = frozenset()
    if request.version >= _CONFIGS_SINCE:
        hidden = await access.denied(AclOperation.DESCRIBE_CONFIGS, _TOPIC, names, log_denied=False)
    times = await counted(names)
    # A topic that is named twice is refused for the repetition, which creates nothing.
    refused = frozenset(name for name in denied if times[name] == 1)
    kept = tuple([topic async for topic in paced(body.topics) if topic.name not in refused])
    error, message = _refusal(context, "Authorization failed.")
    answer = await handler(context, request.with_body(topics=kept))
    answers = [
        _refused_creation(request, name, error, message)
        async for name in paced(await sorted_in_turns(refused))
    ]
    topics = [
        _without_configs(topic) if topic.name in hidden else topic
        async for topic in paced((*answer.topics, *answers))
    ]
    return replace(answer, topics=tuple(topics))


def _refused_creation(request: Request, name: str, error: ErrorCode, message: str) -> Answer:
    return request.answer(
        "CreatableTopicResult",
        name=name,
        topic_id=None,
        error_code=error,
        error_message=message,
        num_partitions=-1,
        replication_factor=-1,
        configs=(),
    )


def _without_configs(topic: Body) -> Body:
    return replace(
        topic, topic_config_error_code=_DENIED, num_partitions=-1, replication_factor=-1, configs=()
    )


async def delete_topics(context: ServerContext, request: Request, handler: Handler) -> Answer:
    """Require DELETE of each topic.

    A topic named by its id does not exist here, whatever the client's rights.
    """
    access = access_of(context, request)
    field = "topic_names" if request.version < FIRST_WITH_STATES else "topics"
    asked: tuple[Any, ...] = getattr(request.body, field)
    named = [name async for topic in paced(asked) if (name := _deleted_name(topic)) is not None]
    denied = await access.denied(AclOperation.DELETE, _TOPIC, named)
    error, message = _refusal(context, "Topic authorization failed.")
    if error is _DENIED and not context.broker_settings().values["delete.topic.enable"]:
        error, message = ErrorCode.TOPIC_DELETION_DISABLED, "Topic deletion is disabled."
        if request.version < FIRST_WITH_DISABLED:
            error = ErrorCode.INVALID_REQUEST
    kept = tuple([topic async for topic in paced(asked) if _deleted_name(topic) not in denied])
    answer = await handler(context, request.with_body(**{field: kept}))
    refused = [
        request.answer(
            "DeletableTopicResult", name=name, topic_id=None, error_code=error, error_message=message
        )
        async for name in paced(await sorted_in_turns(denied))
    ]
    return replace(answer, responses=(*answer.responses, *refused))


def _deleted_name(topic: Any) -> str | None:
    """Return the name of a topic in a request; None if it has an id."""
    if isinstance(topic, str):
        return topic
    return topic.name if topic.topic_id is None else None


async def create_partitions(context: ServerContext, request: Request, handler: Handler) -> Answer:
    """Require ALTER of each topic; a topic that is named twice is refused for the repetition."""
    access, body = access_of(context, request), request.body
    times = await counted(topic.name for topic in body.topics)
    once = [name async for name in paced(times) if times[name] == 1]
    denied = await access.denied(AclOperation.ALTER, _TOPIC, once)
    kept = tuple([topic async for topic in paced(body.topics) if topic.name not in denied])
    error, message = _refusal(context, "The topic authorization is failed.")
    answer = await handler(context, request.with_body(topics=kept))
    refused = [
        request.answer("CreatePartitionsTopicResult", name=name, error_code=error, error_message=message)
        async for name in paced(await sorted_in_turns(denied))
    ]
    return replace(answer, results=(*answer.results, *refused))
