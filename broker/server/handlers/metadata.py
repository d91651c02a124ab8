"""Metadata (3): brokers, topics and leaders; missing topics are created where that is allowed.

Sources: ``KafkaApis.handleTopicMetadataRequest``, ``ZkMetadataCache.getPartitionMetadata`` and
``AutoTopicCreationManager`` of release 2.8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from barnabas.broker.core.group.coordinator_partition import OFFSETS_TOPIC
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.server.portions import RequestDeadline, submit
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.acls import ResourceType
from barnabas.cluster.model.authorized_operations import authorized_operations
from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.model.commands.topics import CreateTopics, CreateTopicsResult, NewTopic
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import NO_LEADER, BrokerId
from barnabas.cluster.model.requests import UpdateMetadataPartition
from barnabas.cluster.model.topic_names import INTERNAL_TOPICS, fault
from barnabas.cluster.runtime.turn import paced

_NO_CONTROLLER = -1
_LISTENER_NOT_FOUND_SINCE = 6

SHORT_ANSWER = 1_000
"""The most topics and partitions of an answer that is built at once: about 100 KB."""

_BEING_CREATED = frozenset({ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS})


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return the requested topics, or all; create missing ones if request and broker allow it."""
    asked = request.body.topics
    # Version 0 has no null: an empty list means all topics.
    if asked is None or (request.version == 0 and not asked):
        return await _answer(context, request, tuple(context.metadata.topics), {})
    names: dict[str, None] = {}
    async for topic in paced(asked):
        if topic.name is None or getattr(topic, "topic_id", None) is not None:
            # Release 2.8 with ZooKeeper has no topic ids.
            return await _refused(context, request)
        names[topic.name] = None
    if not (context.settings.auto_create_topics and getattr(request.body, "allow_auto_topic_creation", True)):
        return await _answer(context, request, names, {})
    missing = [name async for name in paced(names) if not context.metadata.partitions(name)]
    errors = {name: ErrorCode.INVALID_TOPIC_EXCEPTION async for name in paced(missing) if fault(name)}
    errors |= await _create(context, [name async for name in paced(missing) if name not in errors])
    return await _answer(context, request, names, errors)


async def _create(context: ServerContext, names: list[str]) -> dict[str, ErrorCode]:
    """Create topics with the cluster's defaults; ``LEADER_NOT_AVAILABLE`` makes the client try again."""
    errors: dict[str, ErrorCode] = {}
    if not names:
        return errors
    async for portion, outcome in submit(
        context.any_controller,
        names,
        lambda some: CreateTopics(tuple(_new_topic(context, name) for name in some)),
        RequestDeadline(context.settings.request_timeout_ms),
    ):
        errors |= dict.fromkeys(portion, ErrorCode.LEADER_NOT_AVAILABLE)
        if isinstance(outcome, CreateTopicsResult):
            errors |= {
                topic.name: topic.error for topic in outcome.topics if topic.error not in _BEING_CREATED
            }
    return errors


def _new_topic(context: ServerContext, name: str) -> NewTopic:
    """Return the topic with the cluster's defaults; ``__consumer_offsets`` has settings of its own."""
    return context.groups.topic.creation if name == OFFSETS_TOPIC else NewTopic(name)


def _is_short(context: ServerContext, names: Iterable[str]) -> bool:
    count = 0
    for name in names:
        count += 1 + len(context.metadata.partitions(name) or ())
        if count > SHORT_ANSWER:
            return False
    return True


async def _answer(
    context: ServerContext, request: Request, names: Iterable[str], errors: Mapping[str, ErrorCode]
) -> Answer:
    """Build the answer about these topics; a topic that is known has no error, whatever ``errors`` says.

    A request of 18 bytes can cause a long answer.
    """
    if not _is_short(context, names):
        await request.progress.begin_long_answer()
    endpoints = _endpoints(context, request)
    topics = []
    async for name in paced(names):
        partitions = context.metadata.partitions(name)
        if partitions:
            entities = [
                _partition(context, request, partition, endpoints)
                async for partition in paced([partitions[number] for number in sorted(partitions)])
            ]
            topics.append(_topic(request, name, ErrorCode.NONE, tuple(entities)))
        else:
            topics.append(_topic(request, name, errors.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), ()))
    return _response(context, request, endpoints, tuple(topics))


async def _refused(context: ServerContext, request: Request) -> Answer:
    topics = [
        _topic(request, topic.name or "", ErrorCode.INVALID_REQUEST, ())
        async for topic in paced(request.body.topics)
    ]
    return _response(context, request, _endpoints(context, request), tuple(topics))


def _endpoints(context: ServerContext, request: Request) -> dict[BrokerId, Endpoint]:
    """Return the endpoint of each live broker on the client's listener."""
    return {
        broker.id: endpoint
        for broker in context.metadata.live_brokers
        if (endpoint := broker.endpoint(request.listener)) is not None
    }


def _response(
    context: ServerContext,
    request: Request,
    endpoints: Mapping[BrokerId, Endpoint],
    topics: tuple[Answer, ...],
) -> Answer:
    metadata = context.metadata
    brokers = [
        request.answer(
            "MetadataResponseBroker",
            node_id=broker.id,
            host=endpoints[broker.id].host,
            port=endpoints[broker.id].port,
            rack=broker.rack,
        )
        for broker in metadata.live_brokers
        if broker.id in endpoints
    ]
    return request.answer(
        "MetadataResponse",
        throttle_time=NO_THROTTLE,
        brokers=tuple(brokers),
        cluster_id=context.cluster_id,
        controller_id=_NO_CONTROLLER if metadata.controller is None else metadata.controller,
        topics=topics,
        cluster_authorized_operations=_operations(request, ResourceType.CLUSTER),
    )


def _topic(request: Request, name: str, error: ErrorCode, partitions: tuple[Answer, ...]) -> Answer:
    return request.answer(
        "MetadataResponseTopic",
        error_code=error,
        name=name,
        topic_id=None,
        is_internal=name in INTERNAL_TOPICS,
        partitions=partitions,
        topic_authorized_operations=_operations(request, ResourceType.TOPIC),
    )


def _operations(request: Request, kind: ResourceType) -> int:
    """Return the operations that the client may do, if it asked for them.

    Versions 8 and later ask; 11 no longer asks about the cluster.
    """
    is_asked = getattr(request.body, f"include_{kind.name.lower()}_authorized_operations", False)
    return authorized_operations(kind, is_asked=is_asked)


def _partition(
    context: ServerContext,
    request: Request,
    partition: UpdateMetadataPartition,
    endpoints: Mapping[BrokerId, Endpoint],
) -> Answer:
    """Return one partition; without a leader that the client can reach, it has an error and no leader.

    A client of version 0 gets no brokers that it cannot reach, and an error if a replica is among them.
    """
    leadership = partition.state.leader_and_isr
    replicas, isr = partition.replicas, leadership.isr
    error = ErrorCode.NONE
    if leadership.leader not in endpoints:
        is_live = context.metadata.broker(leadership.leader) is not None
        knows = request.version >= _LISTENER_NOT_FOUND_SINCE
        error = ErrorCode.LISTENER_NOT_FOUND if is_live and knows else ErrorCode.LEADER_NOT_AVAILABLE
    if request.version == 0:
        dialled = tuple(replica for replica in replicas if replica in endpoints)
        if error is ErrorCode.NONE and dialled != replicas:
            error = ErrorCode.REPLICA_NOT_AVAILABLE
        replicas, isr = dialled, tuple(replica for replica in isr if replica in endpoints)
    return request.answer(
        "MetadataResponsePartition",
        error_code=error,
        partition_index=partition.topic_partition.partition,
        leader_id=leadership.leader if leadership.leader in endpoints else NO_LEADER,
        leader_epoch=leadership.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=isr,
        offline_replicas=tuple(
            replica
            for replica in partition.replicas
            if replica not in endpoints or replica in partition.offline_replicas
        ),
    )
