"""Metadata (3): brokers, topics, leaders; creates missing topics where that is allowed.

Sources: ``KafkaApis.handleTopicMetadataRequest``, ``ZkMetadataCache.getPartitionMetadata`` and
``AutoTopicCreationManager`` of release 2.8.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping

from broker.server.context import Answer, ServerContext
from broker.wire.frames import NO_THROTTLE, Request
from cluster.model.brokers import Endpoint
from cluster.model.commands import CreateTopics, CreateTopicsResult, NewTopic
from cluster.model.errors import ErrorCode
from cluster.model.ids import NO_LEADER, BrokerId
from cluster.model.requests import UpdateMetadataPartition
from cluster.model.topic_names import INTERNAL_TOPICS, fault

_NO_CONTROLLER = -1
_NO_OPERATIONS = -2147483648
"""Authorized operations that nobody has worked out."""

_LISTENER_NOT_FOUND_SINCE = 6

_BEING_CREATED = frozenset({ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS})


def handle(context: ServerContext, request: Request) -> Answer | Awaitable[Answer]:
    """The topics asked, or all; a missing one is created first where request and broker allow it."""
    asked = request.body.topics
    # Version 0 cannot say null: there, an empty list means all topics.
    if asked is None or (request.version == 0 and not asked):
        return _answer(context, request, context.metadata.topics, {})
    if any(topic.name is None or getattr(topic, "topic_id", None) is not None for topic in asked):
        # There are no topic ids in release 2.8 with ZooKeeper.
        return _refused(context, request)
    names = list(dict.fromkeys(topic.name for topic in asked))
    missing = [name for name in names if not context.metadata.partitions(name)]
    if not (
        missing
        and context.settings.auto_create_topics
        and getattr(request.body, "allow_auto_topic_creation", True)
    ):
        return _answer(context, request, names, {})
    errors = {name: ErrorCode.INVALID_TOPIC_EXCEPTION for name in missing if fault(name)}
    to_create = [name for name in missing if name not in errors]
    if not to_create:
        return _answer(context, request, names, errors)
    return _create_and_answer(context, request, names, errors, to_create)


async def _create_and_answer(
    context: ServerContext,
    request: Request,
    names: list[str],
    errors: Mapping[str, ErrorCode],
    to_create: list[str],
) -> Answer:
    """Create with the cluster's defaults; ``LEADER_NOT_AVAILABLE`` has the client ask again shortly."""
    command = CreateTopics(tuple(NewTopic(name) for name in to_create))
    result = await context.any_controller.submit(command, context.settings.request_timeout_ms)
    created = dict.fromkeys(to_create, ErrorCode.LEADER_NOT_AVAILABLE)
    if isinstance(result, CreateTopicsResult):
        created |= {topic.name: topic.error for topic in result.topics if topic.error not in _BEING_CREATED}
    return _answer(context, request, names, {**errors, **created})


def _answer(
    context: ServerContext, request: Request, names: Iterable[str], errors: Mapping[str, ErrorCode]
) -> Answer:
    """The answer about these topics; one that is known by now has no error, whatever ``errors`` says."""
    endpoints = _endpoints(context, request)
    topics = []
    for name in names:
        partitions = context.metadata.partitions(name)
        if partitions:
            told = tuple(_partition(context, request, partitions[n], endpoints) for n in sorted(partitions))
            topics.append(_topic(request, name, ErrorCode.NONE, told))
        else:
            topics.append(_topic(request, name, errors.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), ()))
    return _response(context, request, endpoints, tuple(topics))


def _refused(context: ServerContext, request: Request) -> Answer:
    topics = [
        _topic(request, topic.name or "", ErrorCode.INVALID_REQUEST, ()) for topic in request.body.topics
    ]
    return _response(context, request, _endpoints(context, request), tuple(topics))


def _endpoints(context: ServerContext, request: Request) -> dict[BrokerId, Endpoint]:
    """Where each live broker can be dialled by a client of this listener."""
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
        cluster_authorized_operations=_NO_OPERATIONS,
    )


def _topic(request: Request, name: str, error: ErrorCode, partitions: tuple[Answer, ...]) -> Answer:
    return request.answer(
        "MetadataResponseTopic",
        error_code=error,
        name=name,
        topic_id=None,
        is_internal=name in INTERNAL_TOPICS,
        partitions=partitions,
        topic_authorized_operations=_NO_OPERATIONS,
    )


def _partition(
    context: ServerContext,
    request: Request,
    partition: UpdateMetadataPartition,
    endpoints: Mapping[BrokerId, Endpoint],
) -> Answer:
    """One partition; without a leader that the client can dial, it says so and names none.

    Version 0 is not told of brokers that it could not dial, and gets an error where a replica is among them.
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
