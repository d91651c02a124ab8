"""Gates of the APIs of consumer groups: an operation on the group, and one on each topic.

Sources: ``KafkaApis`` and each request's ``getErrorResponse`` of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from barnabas.broker.server.access import Access, access_of
from barnabas.broker.server.context import Answer, Handler, ServerContext
from barnabas.broker.server.gates.topics import OFFSET_COMMIT, OFFSET_DELETE, OFFSET_FETCH, EachTopic
from barnabas.broker.wire.frames import NO_THROTTLE, Body, Request
from barnabas.cluster.model.acls import AclOperation, ResourceType
from barnabas.cluster.model.authorized_operations import NOT_ASKED
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.runtime.turn import paced, sorted_in_turns

DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED

_GROUP = ResourceType.GROUP
_GROUP_KEY, _TRANSACTION_KEY = 0, 1
_OFFSET_FETCH_ERROR_SINCE = 2
_NULL_PROTOCOL_SINCE = 7

# The topics of requests that may use the group.
_COMMITTED_TOPICS = EachTopic(AclOperation.READ, OFFSET_COMMIT)
_FETCHED_TOPICS = EachTopic(AclOperation.DESCRIBE, OFFSET_FETCH)
_DELETED_TOPICS = EachTopic(AclOperation.READ, OFFSET_DELETE)


@dataclass(frozen=True, slots=True)
class OneGroup:
    """A gate that needs an operation on the group of the request.

    Attributes:
        operation: The operation.
        refused: Builds the answer to a client without it.
    """

    operation: AclOperation
    refused: Callable[[Request], Answer]

    async def __call__(self, context: ServerContext, request: Request, handler: Handler) -> Answer:
        """Pass on the request, or refuse it."""
        if not access_of(context, request).may(self.operation, _GROUP, request.body.group_id):
            return self.refused(request)
        handling = handler(context, request)
        del request  # the handler keeps what it needs while it waits
        return await handling


def refused_join(request: Request) -> Answer:
    """Return the answer to a JoinGroup that is not allowed."""
    return request.answer(
        "JoinGroupResponse",
        throttle_time=NO_THROTTLE,
        error_code=DENIED,
        generation_id=-1,
        protocol_type=None,
        protocol_name=None if request.version >= _NULL_PROTOCOL_SINCE else "",
        leader="",
        member_id="",
        members=(),
    )


def refused_sync(request: Request) -> Answer:
    """Return the answer to a SyncGroup that is not allowed."""
    return request.answer("SyncGroupResponse", throttle_time=NO_THROTTLE, error_code=DENIED, assignment=b"")


def refused_heartbeat(request: Request) -> Answer:
    """Return the answer to a Heartbeat that is not allowed."""
    return request.answer("HeartbeatResponse", throttle_time=NO_THROTTLE, error_code=DENIED)


def refused_leave(request: Request) -> Answer:
    """Return the answer to a LeaveGroup that is not allowed."""
    return request.answer("LeaveGroupResponse", throttle_time=NO_THROTTLE, error_code=DENIED, members=())


async def find_coordinator(context: ServerContext, request: Request, handler: Handler) -> Answer:
    """Require DESCRIBE of the group or transactional id."""
    access, key_type = access_of(context, request), getattr(request.body, "key_type", _GROUP_KEY)
    kinds = {
        _GROUP_KEY: (_GROUP, DENIED),
        _TRANSACTION_KEY: (
            ResourceType.TRANSACTIONAL_ID,
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ),
    }
    if key_type in kinds:
        kind, error = kinds[key_type]
        if not access.may(AclOperation.DESCRIBE, kind, request.body.key):
            return request.answer(
                "FindCoordinatorResponse",
                throttle_time=NO_THROTTLE,
                error_code=error,
                error_message=None,
                node_id=-1,
                host="",
                port=-1,
            )
    return await handler(context, request)


async def describe_groups(context: ServerContext, request: Request, handler: Handler) -> Answer:
    """Require DESCRIBE of each group, and add the operations that are permitted to the client."""
    access, names = access_of(context, request), request.body.groups
    denied = await access.denied(AclOperation.DESCRIBE, _GROUP, names)
    kept = tuple([name async for name in paced(names) if name not in denied])
    answer = await handler(context, request.with_body(groups=kept))
    groups = [_with_operations(access, group) async for group in paced(answer.groups)]
    refused = [
        request.answer(
            "DescribedGroup",
            error_code=DENIED,
            group_id=name,
            group_state="",
            protocol_type="",
            protocol_data="",
            members=(),
        )
        async for name in paced(await sorted_in_turns(denied))
    ]
    return replace(answer, groups=(*groups, *refused))


def _with_operations(access: Access, group: Body) -> Body:
    if getattr(group, "authorized_operations", NOT_ASKED) == NOT_ASKED:
        return group
    return replace(group, authorized_operations=access.operations(_GROUP, group.group_id))


async def list_groups(context: ServerContext, request: Request, handler: Handler) -> Answer:
    """List all groups with DESCRIBE of the cluster, else those with DESCRIBE of the group."""
    access = access_of(context, request)
    sees_all = access.cluster(AclOperation.DESCRIBE, log_denied=False)
    answer = await handler(context, request)
    if sees_all:
        return answer
    groups = [
        group
        async for group in paced(answer.groups)
        if access.may(AclOperation.DESCRIBE, _GROUP, group.group_id, log_denied=False)
    ]
    return replace(answer, groups=tuple(groups))


async def delete_groups(context: ServerContext, request: Request, handler: Handler) -> Answer:
    """Require DELETE of each group."""
    names = request.body.groups_names
    denied = await access_of(context, request).denied(AclOperation.DELETE, _GROUP, names)
    kept = tuple([name async for name in paced(names) if name not in denied])
    answer = await handler(context, request.with_body(groups_names=kept))
    refused = [
        request.answer("DeletableGroupResult", group_id=name, error_code=DENIED)
        async for name in paced(await sorted_in_turns(denied))
    ]
    return replace(answer, results=(*answer.results, *refused))


async def offset_commit(context: ServerContext, request: Request, handler: Handler) -> Answer:
    """Require READ of the group and of each topic."""
    access = access_of(context, request)
    if not access.may(AclOperation.READ, _GROUP, request.body.group_id):
        topics = await OFFSET_COMMIT.of(request, None, DENIED)
        return request.answer("OffsetCommitResponse", throttle_time=NO_THROTTLE, topics=topics)
    return await _COMMITTED_TOPICS(context, request, handler)


async def offset_fetch(context: ServerContext, request: Request, handler: Handler) -> Answer:
    """Require DESCRIBE of the group and of each topic.

    A request for all topics gets only the permitted ones.
    """
    access = access_of(context, request)
    if not access.may(AclOperation.DESCRIBE, _GROUP, request.body.group_id):
        in_topics = request.version < _OFFSET_FETCH_ERROR_SINCE
        topics = await OFFSET_FETCH.of(request, None, DENIED) if in_topics else ()
        return request.answer(
            "OffsetFetchResponse", throttle_time=NO_THROTTLE, topics=topics, error_code=DENIED
        )
    if request.body.topics is not None:
        return await _FETCHED_TOPICS(context, request, handler)

    answer = await handler(context, request)
    names = [topic.name async for topic in paced(answer.topics)]
    hidden = await access.denied(AclOperation.DESCRIBE, ResourceType.TOPIC, names, log_denied=False)
    seen = [topic async for topic in paced(answer.topics) if topic.name not in hidden]
    return replace(answer, topics=tuple(seen))


async def offset_delete(context: ServerContext, request: Request, handler: Handler) -> Answer:
    """Require DELETE of the group and READ of each topic."""
    access = access_of(context, request)
    if not access.may(AclOperation.DELETE, _GROUP, request.body.group_id):
        return request.answer("OffsetDeleteResponse", error_code=DENIED, throttle_time=NO_THROTTLE, topics=())
    return await _DELETED_TOPICS(context, request, handler)
