"""Gates of the APIs that need an operation on the cluster: without it the whole request is refused.

Sources: ``KafkaApis`` and each request's ``getErrorResponse`` of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from barnabas.broker.server.access import access_of
from barnabas.broker.server.by_topic import topic_answers
from barnabas.broker.server.context import Answer, Handler, ServerContext
from barnabas.broker.server.handlers.alter_client_quotas import entity_answers
from barnabas.broker.wire.frames import NO_THROTTLE, Body, Request
from barnabas.cluster.model.acls import CLUSTER_NAME, AclOperation, ResourceType
from barnabas.cluster.model.authorized_operations import NOT_ASKED
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime.turn import paced, sorted_in_turns, unique

DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
MESSAGE = "Cluster authorization failed."


@dataclass(frozen=True, slots=True)
class OnCluster:
    """A gate that needs an operation on the cluster.

    Attributes:
        operation: The operation.
        refused: Builds the answer to a client without it.
    """

    operation: AclOperation
    refused: Callable[[Request], Awaitable[Answer]]

    async def __call__(self, context: ServerContext, request: Request, handler: Handler) -> Answer:
        """Pass on the request, or refuse it."""
        if not access_of(context, request).cluster(self.operation):
            return await self.refused(request)
        return await handler(context, request)


async def describe_cluster(context: ServerContext, request: Request, handler: Handler) -> Answer:
    """Require nothing.

    Add the cluster operations that are permitted to a client that may describe the cluster.
    """
    return with_cluster_operations(context, request, await handler(context, request))


def with_cluster_operations(context: ServerContext, request: Request, answer: Body) -> Body:
    """Return an answer with the operations that the client may perform on the cluster, if it asked."""
    if getattr(answer, "cluster_authorized_operations", NOT_ASKED) == NOT_ASKED:
        return answer
    access = access_of(context, request)
    may_describe = access.cluster(AclOperation.DESCRIBE)
    operations = access.operations(ResourceType.CLUSTER, CLUSTER_NAME) if may_describe else 0
    return replace(answer, cluster_authorized_operations=operations)


async def init_producer_id(context: ServerContext, request: Request, handler: Handler) -> Answer:
    """Require WRITE of the transactional id; else IDEMPOTENT_WRITE on the cluster, or WRITE of any topic."""
    access, transactional_id = access_of(context, request), request.body.transactional_id
    error = None
    if transactional_id is not None:
        if not access.may(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id):
            error = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    elif not (
        access.cluster(AclOperation.IDEMPOTENT_WRITE, log_denied=False)
        or access.authorizer.is_authorized_by_type(
            access.requester, AclOperation.WRITE, ResourceType.TOPIC, access.api
        )
    ):
        error = DENIED
    if error is None:
        return await handler(context, request)
    return request.answer(
        "InitProducerIdResponse",
        throttle_time=NO_THROTTLE,
        error_code=error,
        producer_id=-1,
        producer_epoch=-1,
    )


async def alter_user_scram_credentials(context: ServerContext, request: Request, handler: Handler) -> Answer:
    """Require ALTER of the cluster.

    A broker that is not the controller refuses with that first, as in Kafka.
    """
    if access_of(context, request).cluster(AclOperation.ALTER):
        return await handler(context, request)
    error, message = DENIED, MESSAGE
    if context.metadata.controller != context.broker_id:
        error, message = ErrorCode.NOT_CONTROLLER, ErrorCode.NOT_CONTROLLER.meaning
    body = request.body
    users = {each.name: None async for each in paced(chain(body.deletions, body.upsertions))}
    results = [
        request.answer("AlterUserScramCredentialsResult", user=user, error_code=error, error_message=message)
        async for user in paced(await sorted_in_turns(users))
    ]
    return request.answer(
        "AlterUserScramCredentialsResponse", throttle_time=NO_THROTTLE, results=tuple(results)
    )


async def refused_log_dirs(request: Request) -> Answer:
    """Return the answer to a DescribeLogDirs that is not allowed: no directory, and no error."""
    return request.answer("DescribeLogDirsResponse", throttle_time=NO_THROTTLE, results=())


async def refused_moves(request: Request) -> Answer:
    """Return the answer to an AlterReplicaLogDirs that is not allowed."""
    named = (
        TopicPartition(topic.name, number)
        for log_dir in request.body.dirs
        for topic in log_dir.topics
        for number in topic.partitions
    )
    topics = await topic_answers(
        request,
        "AlterReplicaLogDirTopicResult",
        await unique(named),
        lambda tp: request.answer(
            "AlterReplicaLogDirPartitionResult", partition_index=tp.partition, error_code=DENIED
        ),
        name="topic_name",
    )
    return request.answer("AlterReplicaLogDirsResponse", throttle_time=NO_THROTTLE, results=topics)


async def refused_elections(request: Request) -> Answer:
    """Return the answer to an ElectLeaders that is not allowed."""
    named = (
        TopicPartition(topic.topic, number)
        for topic in request.body.topic_partitions or ()
        for number in topic.partitions
    )
    topics = await topic_answers(
        request,
        "ReplicaElectionResult",
        await unique(named),
        lambda tp: request.answer(
            "PartitionResult", partition_id=tp.partition, error_code=DENIED, error_message=MESSAGE
        ),
        name="topic",
        listed="partition_result",
    )
    return request.answer(
        "ElectLeadersResponse", throttle_time=NO_THROTTLE, error_code=DENIED, replica_election_results=topics
    )


async def refused_reassignments(request: Request) -> Answer:
    """Return the answer to an AlterPartitionReassignments that is not allowed."""
    named = (
        TopicPartition(topic.name, each.partition_index)
        for topic in request.body.topics
        for each in topic.partitions
    )
    topics = await topic_answers(
        request,
        "ReassignableTopicResponse",
        await unique(named),
        lambda tp: request.answer(
            "ReassignablePartitionResponse",
            partition_index=tp.partition,
            error_code=DENIED,
            error_message=MESSAGE,
        ),
    )
    return request.answer(
        "AlterPartitionReassignmentsResponse",
        throttle_time=NO_THROTTLE,
        error_code=DENIED,
        error_message=MESSAGE,
        responses=topics,
    )


async def refused_altered_quotas(request: Request) -> Answer:
    """Return the answer to an AlterClientQuotas that is not allowed."""
    entries = [
        request.answer(
            "EntryData",
            error_code=DENIED,
            error_message=MESSAGE,
            entity=await entity_answers(request, entry),
        )
        async for entry in paced(request.body.entries)
    ]
    return request.answer("AlterClientQuotasResponse", throttle_time=NO_THROTTLE, entries=tuple(entries))


async def refused_acls(request: Request) -> Answer:
    """Return the answer to a CreateAcls that is not allowed."""
    result = request.answer("AclCreationResult", error_code=DENIED, error_message=MESSAGE)
    results = (result,) * len(request.body.creations)
    return request.answer("CreateAclsResponse", throttle_time=NO_THROTTLE, results=results)


async def refused_acl_filters(request: Request) -> Answer:
    """Return the answer to a DeleteAcls that is not allowed."""
    result = request.answer(
        "DeleteAclsFilterResult", error_code=DENIED, error_message=MESSAGE, matching_acls=()
    )
    results = (result,) * len(request.body.filters)
    return request.answer("DeleteAclsResponse", throttle_time=NO_THROTTLE, filter_results=results)


def refused_with(name: str, **fields: Any) -> Callable[[Request], Awaitable[Answer]]:
    """Return the builder of an answer that has one error for the whole request.

    Args:
        name: The class of the answer.
        fields: Its fields besides the error.
    """

    async def refused(request: Request) -> Answer:
        return request.answer(
            name, throttle_time=NO_THROTTLE, error_code=DENIED, error_message=MESSAGE, **fields
        )

    return refused
