"""The DeleteTopics request (api key 20; Kafka: ``ZkAdminManager.deleteTopics``).

It marks the topics in ``/admin/delete_topics``; the watch on that node starts `topics.topic_deletion`.
Source: docs/kafka/topics.md, Deletion.
"""

from __future__ import annotations

from collections.abc import Collection

from barnabas.cluster.model.commands.topics import DeleteTopics, DeleteTopicsResult, TopicResult
from barnabas.cluster.model.errors import ErrorCode
from barnabas.controller.core.context.controller_context import ControllerContext
from barnabas.controller.core.protocol.effects import Decision, ask
from barnabas.controller.core.protocol.inputs import CommandReceived
from barnabas.controller.core.topics.effects import MarkTopicDeletions, ReadTopics


def delete_topics(
    context: ControllerContext, request: CommandReceived[DeleteTopics]
) -> Decision[DeleteTopicsResult]:
    """Mark the topics that exist for deletion, and return the results; marking one again succeeds."""
    names = tuple(dict.fromkeys(request.command.topics))
    if not context.facts.delete_topic_enable:
        disabled = "Topic deletion is disabled: delete.topic.enable is false"
        results = tuple(TopicResult(name, ErrorCode.TOPIC_DELETION_DISABLED, disabled) for name in names)
        return DeleteTopicsResult(results)
    existing = yield from ask(ReadTopics())
    wanted = tuple(name for name in names if name in existing)
    if wanted:
        yield from ask(MarkTopicDeletions(wanted, context.fence))
    return DeleteTopicsResult(tuple(_result(name, existing) for name in names))


def _result(name: str, existing: Collection[str]) -> TopicResult:
    if name in existing:
        return TopicResult(name, ErrorCode.NONE)
    return TopicResult(
        name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{name}' to delete does not exist."
    )
