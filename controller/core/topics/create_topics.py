"""The CreateTopics request (api key 19; Kafka: ``ZkAdminManager.createTopics``).

The topic is written to ZooKeeper only. The watch on ``/brokers/topics`` then creates its partitions, as if a
person had written it, so that there is one path for all topics.
Source: docs/kafka/topics.md, Creation.
"""

from __future__ import annotations

from barnabas.cluster.model.commands.topics import CreateTopics, CreateTopicsResult, NewTopic, TopicResult
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.log_text import shortened
from barnabas.controller.core.context.controller_context import ControllerContext
from barnabas.controller.core.protocol.effects import Decision, LogInfo, ask
from barnabas.controller.core.protocol.inputs import CommandReceived, Draw
from barnabas.controller.core.topics.effects import CreateTopic, ReadTopics
from barnabas.controller.core.topics.topic_validation import (
    Refusal,
    TopicNames,
    duplicates,
    plan_topic,
    refuse_batch,
)


def create_topics(
    context: ControllerContext, request: CommandReceived[CreateTopics]
) -> Decision[CreateTopicsResult]:
    """Check and write each topic separately, and return the result of each."""
    existing = TopicNames((yield from ask(ReadTopics())))
    twice = duplicates(topic.name for topic in request.command.topics)
    too_many = refuse_batch(_partitions(context, topic) for topic in request.command.topics)
    results: list[TopicResult] = []
    for topic, draw in zip(request.command.topics, request.draws, strict=True):
        if topic.name in twice:
            refusal = Refusal(ErrorCode.INVALID_REQUEST, f"Duplicate topic name: {topic.name}")
            results.append((yield from _refuse(topic.name, refusal)))
            continue
        if too_many is not None:
            results.append((yield from _refuse(topic.name, too_many)))
            continue
        result = yield from _create(
            context, topic, draw, existing, validate_only=request.command.validate_only
        )
        if result.error is ErrorCode.NONE:
            existing.add(topic.name)
        results.append(result)
    return CreateTopicsResult(tuple(results))


def _partitions(context: ControllerContext, topic: NewTopic) -> int:
    """Return the number of partitions that ``topic`` requests, even if the request is invalid."""
    if topic.assignments:
        return len(topic.assignments)
    return context.facts.num_partitions if topic.partitions == -1 else topic.partitions


def _create(
    context: ControllerContext, topic: NewTopic, draw: Draw, existing: TopicNames, *, validate_only: bool
) -> Decision[TopicResult]:
    plan = plan_topic(topic, existing, context.brokers, context.facts, draw)
    if isinstance(plan, Refusal):
        return (yield from _refuse(topic.name, plan))
    factor = len(plan[0].replicas)
    result = TopicResult(topic.name, ErrorCode.NONE, partitions=len(plan), replication_factor=factor)
    if validate_only:
        return result
    created = yield from ask(CreateTopic(topic.name, plan, topic.configs, context.fence))
    if not created:
        exists = Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
        return (yield from _refuse(topic.name, exists))
    yield LogInfo(f"topic {topic.name} written: {len(plan)} partitions, replication factor {factor}")
    return result


def _refuse(name: str, refusal: Refusal) -> Decision[TopicResult]:
    message = shortened(refusal.message)
    line = f"topic {shortened(name)} refused with {refusal.error.name}: {message}"
    yield LogInfo(line, client_kind="CreateTopics refused")
    return TopicResult(name, refusal.error, refusal.message)
