"""SyncGroup (14): the leader brings the assignment, and each member takes its part.

Sources: ``KafkaApis.handleSyncGroupRequest`` and ``SyncGroupRequest.json`` of release 2.8; KIP-559.
"""

from __future__ import annotations

from barnabas.broker.core.group.requests import SyncGroup
from barnabas.broker.core.group.results import SyncGroupResult
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.runtime.turn import paced

_PROTOCOL_SINCE = 5


async def handle(context: ServerContext, request: Request) -> Answer:
    """Answer when the assignment is in the log; at once if it is there already."""
    body = request.body
    protocol_type, protocol = getattr(body, "protocol_type", None), getattr(body, "protocol_name", None)
    if request.version >= _PROTOCOL_SINCE and (protocol_type is None or protocol is None):
        return _answer(request, SyncGroupResult(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
    sync = SyncGroup(
        group_id=body.group_id,
        generation=body.generation_id,
        member_id=body.member_id,
        instance_id=getattr(body, "group_instance_id", None),
        protocol_type=protocol_type,
        protocol=protocol,
        assignments={each.member_id: each.assignment async for each in paced(body.assignments)},
    )
    return _answer(request.without_body(), await context.groups.sync(sync))


def _answer(request: Request, result: SyncGroupResult) -> Answer:
    return request.answer(
        "SyncGroupResponse",
        throttle_time=NO_THROTTLE,
        error_code=result.error,
        protocol_type=result.protocol_type,
        protocol_name=result.protocol,
        assignment=result.assignment,
    )
