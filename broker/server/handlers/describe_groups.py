"""DescribeGroups (15): state and members of groups; an unknown group is Dead, which is no error.

Sources: ``KafkaApis.handleDescribeGroupRequest`` and ``DescribeGroupsRequest.json`` of release 2.8; KIP-430.
"""

from __future__ import annotations

from barnabas.broker.core.group.results import GroupSummary
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.acls import ResourceType
from barnabas.cluster.model.authorized_operations import authorized_operations
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.runtime.turn import paced, unique

FEW_GROUPS = 10
"""The most groups that are described without waiting for other long answers."""


async def handle(context: ServerContext, request: Request) -> Answer:
    """Answer for each group; a long answer waits until few others are being built."""
    if len(request.body.groups) > FEW_GROUPS:
        await request.progress.begin_long_answer()
    described = []
    async for group_id in paced(await unique(request.body.groups)):
        found = context.groups.describe(group_id)
        described.append(await _group(request, group_id, found))
    return request.answer("DescribeGroupsResponse", throttle_time=NO_THROTTLE, groups=tuple(described))


async def _group(request: Request, group_id: str, found: GroupSummary | ErrorCode) -> Answer:
    is_asked = getattr(request.body, "include_authorized_operations", False)
    is_asked = is_asked and not isinstance(found, ErrorCode)
    members = [
        request.answer(
            "DescribedGroupMember",
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            member_metadata=member.metadata,
            member_assignment=member.assignment,
        )
        async for member in paced(() if isinstance(found, ErrorCode) else found.members)
    ]
    return request.answer(
        "DescribedGroup",
        error_code=found if isinstance(found, ErrorCode) else ErrorCode.NONE,
        group_id=group_id,
        group_state="" if isinstance(found, ErrorCode) else found.state.value,
        protocol_type="" if isinstance(found, ErrorCode) else found.protocol_type,
        protocol_data="" if isinstance(found, ErrorCode) else found.protocol,
        members=tuple(members),
        authorized_operations=authorized_operations(ResourceType.GROUP, is_asked=is_asked),
    )
