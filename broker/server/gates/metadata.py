"""The gate of Metadata: topics that the client may not describe are hidden; CREATE is needed to create one.

Source: ``KafkaApis.handleTopicMetadataRequest`` of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace

from barnabas.broker.server.access import Access, access_of
from barnabas.broker.server.context import Answer, Handler, ServerContext
from barnabas.broker.server.gates.cluster import with_cluster_operations
from barnabas.broker.wire.frames import Body, Request
from barnabas.cluster.model.acls import AclOperation, ResourceType
from barnabas.cluster.model.authorized_operations import NOT_ASKED
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.topic_names import INTERNAL_TOPICS, fault
from barnabas.cluster.runtime.turn import paced, sorted_in_turns

_TOPIC = ResourceType.TOPIC


async def metadata(context: ServerContext, request: Request, handler: Handler) -> Answer:
    """Answer about the topics that the client may describe.

    A topic that was named and may not be described is ``TOPIC_AUTHORIZATION_FAILED``, whether it exists or
    not.
    """
    access, body = access_of(context, request), request.body
    if body.topics is None or (request.version == 0 and not body.topics):
        answer = await handler(context, request)
        names = [topic.name async for topic in paced(answer.topics)]
        hidden = await access.denied(AclOperation.DESCRIBE, _TOPIC, names, log_denied=False)
        topics = [topic async for topic in paced(answer.topics) if topic.name not in hidden]
        return await _completed(context, request, answer, topics)
    named = [topic.name async for topic in paced(body.topics) if topic.name is not None]
    hidden = await access.denied(AclOperation.DESCRIBE, _TOPIC, named)
    uncreatable = await _uncreatable(context, request, access, [each for each in named if each not in hidden])
    refused = {
        name: _refused(request, name, is_internal=False)
        async for name in paced(await sorted_in_turns(hidden))
    }
    refused |= {
        name: _refused(request, name, is_internal=name in INTERNAL_TOPICS)
        async for name in paced(await sorted_in_turns(uncreatable))
    }
    kept = tuple([topic async for topic in paced(body.topics) if topic.name not in refused])
    allowed = request.with_body(topics=kept)
    may_create = any(each.name == "allow_auto_topic_creation" for each in fields(body))
    if may_create and not await _missing(context, kept):
        # A topic that is being deleted must not be created again without CREATE.
        allowed = allowed.with_body(allow_auto_topic_creation=False)
    answer = await handler(context, allowed)
    # In version 0 an empty list means all topics, of which none was asked for here.
    topics = [] if request.version == 0 and not kept else answer.topics
    return await _completed(context, request, answer, topics, refused.values())


async def _missing(context: ServerContext, topics: tuple[Body, ...]) -> list[str]:
    return [
        topic.name
        async for topic in paced(topics)
        if topic.name is not None and not context.metadata.partitions(topic.name)
    ]


async def _uncreatable(
    context: ServerContext, request: Request, access: Access, names: list[str]
) -> frozenset[str]:
    """Return the missing topics that the request would create and the client may not."""
    creates = context.settings.auto_create_topics and getattr(request.body, "allow_auto_topic_creation", True)
    if not creates:
        return frozenset()
    missing = [
        name async for name in paced(names) if not context.metadata.partitions(name) and not fault(name)
    ]
    if not missing or access.cluster(AclOperation.CREATE, log_denied=False):
        return frozenset()
    return await access.denied(AclOperation.CREATE, _TOPIC, missing)


def _refused(request: Request, name: str, *, is_internal: bool) -> Body:
    return request.answer(
        "MetadataResponseTopic",
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        name=name,
        topic_id=None,
        is_internal=is_internal,
        partitions=(),
    )


async def _completed(
    context: ServerContext,
    request: Request,
    answer: Body,
    topics: Iterable[Body],
    refused: Iterable[Body] = (),
) -> Body:
    """Return the answer with these topics and refusals alone, and with what the client may do."""
    access = access_of(context, request)
    described = [_with_operations(access, topic) async for topic in paced(topics)]
    return with_cluster_operations(context, request, replace(answer, topics=(*described, *refused)))


def _with_operations(access: Access, topic: Body) -> Body:
    if getattr(topic, "topic_authorized_operations", NOT_ASKED) == NOT_ASKED or not topic.name:
        return topic
    return replace(topic, topic_authorized_operations=access.operations(_TOPIC, topic.name))
