"""JoinGroup (11): a member joins its group, and waits for the others.

Sources: ``KafkaApis.handleJoinGroupRequest`` and ``JoinGroupRequest.json`` of release 2.8; KIP-394; KIP-345.
"""

from __future__ import annotations

from uuid import uuid4

from barnabas.broker.core.group.requests import GroupProtocol, JoinGroup
from barnabas.broker.core.group.results import JoinGroupResult
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request, milliseconds
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.runtime.turn import paced

MAX_PROTOCOLS = 1000
"""The most protocols that a member may support; consumers have one for each assignor.

Kafka has no bound. Each join of a member compares all protocols of its group.
"""

MAX_NAME_BYTES = 32_000
"""The most bytes of a client id or instance id: the member id made of it is a string of the protocol, too."""

_MEMBER_ID_REQUIRED_SINCE = 4
_NULL_PROTOCOL_SINCE = 7


async def handle(context: ServerContext, request: Request) -> Answer:
    """Answer when the join round ends; at once if nothing has to be waited for."""
    join = _join_of(request)
    # Members may wait for each other for minutes: without what they have sent.
    request = request.without_body()
    if isinstance(join, JoinGroupResult):
        return _answer(request, join)
    result = await context.groups.join(join)
    members = [
        request.answer(
            "JoinGroupResponseMember",
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            metadata=member.metadata,
        )
        async for member in paced(result.members)
    ]
    return _answer(request, result, tuple(members))


def _join_of(request: Request) -> JoinGroup | JoinGroupResult:
    """Return what the group is asked, or the refusal of an excessive request."""
    body = request.body
    instance_id = getattr(body, "group_instance_id", None)
    client_id = request.client_id or ""
    if len(body.protocols) > MAX_PROTOCOLS:
        return JoinGroupResult(body.member_id, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if len((instance_id or client_id).encode()) > MAX_NAME_BYTES:
        return JoinGroupResult(body.member_id, ErrorCode.INVALID_REQUEST)
    return JoinGroup(
        group_id=body.group_id,
        member_id=body.member_id,
        instance_id=instance_id,
        require_known_member_id=request.version >= _MEMBER_ID_REQUIRED_SINCE and instance_id is None,
        client_id=client_id,
        client_host=f"/{request.client_host}",
        rebalance_timeout_ms=milliseconds(getattr(body, "rebalance_timeout", body.session_timeout)),
        session_timeout_ms=milliseconds(body.session_timeout),
        protocol_type=body.protocol_type,
        protocols=tuple(GroupProtocol(each.name, each.metadata) for each in body.protocols),
        fresh_uuid=str(uuid4()),
    )


def _answer(request: Request, result: JoinGroupResult, members: tuple[Answer, ...] = ()) -> Answer:
    protocol = result.protocol
    if protocol is None and request.version < _NULL_PROTOCOL_SINCE:
        protocol = ""
    return request.answer(
        "JoinGroupResponse",
        throttle_time=NO_THROTTLE,
        error_code=result.error,
        generation_id=result.generation,
        protocol_type=result.protocol_type,
        protocol_name=protocol,
        leader=result.leader,
        member_id=result.member_id,
        members=members,
    )
