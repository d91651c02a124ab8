"""ListGroups (16): the groups that this broker coordinates.

Sources: ``KafkaApis.handleListGroupsRequest`` and ``ListGroupsRequest.json`` of release 2.8; KIP-518.
"""

from __future__ import annotations

from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.runtime.turn import paced, unique

FEW_GROUPS = 1_000
"""The most groups that are listed without waiting for other long answers."""


async def handle(context: ServerContext, request: Request) -> Answer:
    """Answer all groups, or those in the states asked for; the answer may be long."""
    if context.groups.count > FEW_GROUPS:
        await request.progress.begin_long_answer()
    states = (await unique(getattr(request.body, "states_filter", ()))).keys()
    error, groups = await context.groups.list(states)
    listed = [
        request.answer(
            "ListedGroup",
            group_id=group.group_id,
            protocol_type=group.protocol_type,
            group_state=group.state.value,
        )
        async for group in paced(groups)
    ]
    return request.answer(
        "ListGroupsResponse", throttle_time=NO_THROTTLE, error_code=error, groups=tuple(listed)
    )
