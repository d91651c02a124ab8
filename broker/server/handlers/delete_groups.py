"""DeleteGroups (42): delete groups without members, and their offsets (KIP-229).

Sources: ``KafkaApis.handleDeleteGroupsRequest`` and ``DeleteGroupsRequest.json`` of release 2.8.
"""

from __future__ import annotations

from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.runtime.turn import paced, unique


async def handle(context: ServerContext, request: Request) -> Answer:
    """Answer an error for each group."""
    results = []
    async for group_id in paced(await unique(request.body.groups_names)):
        error = await context.groups.delete(group_id)
        results.append(request.answer("DeletableGroupResult", group_id=group_id, error_code=error))
    return request.answer("DeleteGroupsResponse", throttle_time=NO_THROTTLE, results=tuple(results))
