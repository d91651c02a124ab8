"""LeaveGroup (13): members leave; since version 3 several at a time, static ones by their instance id.

Sources: ``KafkaApis.handleLeaveGroupRequest`` and ``LeaveGroupRequest.json`` of release 2.8; KIP-345.
"""

from __future__ import annotations

from barnabas.broker.core.group.requests import LeavingMember
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.runtime.turn import paced

_SEVERAL_SINCE = 3


async def handle(context: ServerContext, request: Request) -> Answer:
    """Answer an error for each member; before version 3 the one member's error is that of the request."""
    body = request.body
    if request.version < _SEVERAL_SINCE:
        members = [LeavingMember(body.member_id, None)]
    else:
        members = [
            LeavingMember(each.member_id, each.group_instance_id) async for each in paced(body.members)
        ]
    left = await context.groups.leave(body.group_id, members)
    if isinstance(left, ErrorCode):
        return request.answer("LeaveGroupResponse", throttle_time=NO_THROTTLE, error_code=left, members=())
    if request.version < _SEVERAL_SINCE:
        return request.answer("LeaveGroupResponse", throttle_time=NO_THROTTLE, error_code=left[0].error)
    members = [
        request.answer(
            "MemberResponse",
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            error_code=error,
        )
        async for member, error in paced(left)
    ]
    return request.answer(
        "LeaveGroupResponse", throttle_time=NO_THROTTLE, error_code=ErrorCode.NONE, members=tuple(members)
    )
