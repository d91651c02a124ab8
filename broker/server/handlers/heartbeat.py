"""Heartbeat (12): a member proves that it is alive, and learns whether its group rebalances.

Sources: ``KafkaApis.handleHeartbeatRequest`` and ``HeartbeatRequest.json`` of release 2.8.
"""

from __future__ import annotations

from barnabas.broker.core.group.requests import MemberCall
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request


async def handle(context: ServerContext, request: Request) -> Answer:
    """Answer at once."""
    body = request.body
    instance_id = getattr(body, "group_instance_id", None)
    call = MemberCall(body.group_id, body.generation_id, body.member_id, instance_id)
    error = context.groups.heartbeat(call)
    return request.answer("HeartbeatResponse", throttle_time=NO_THROTTLE, error_code=error)
