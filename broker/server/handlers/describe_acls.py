"""DescribeAcls (29): the ACLs that match a filter, as this broker knows them.

Sources: ``KafkaApis.handleDescribeAcls`` and ``AclApis`` of Kafka 2.8; KIP-140, KIP-290.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from barnabas.broker.server.acl_requests import NO_AUTHORIZER, filter_of
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.acls import AclBinding
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.runtime.turn import paced


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return the ACLs by resource.

    Raises:
        CloseConnectionError: The filter has an unknown code, or one that its version does not know.
    """
    asked = filter_of(request, request.body)
    if context.authorizer is None:
        return _answer(request, ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER, ())
    found = groupby(await context.authorizer.bindings(asked), lambda binding: binding.resource)
    resources = [
        request.answer(
            "DescribeAclsResource",
            resource_type=resource.type,
            resource_name=resource.name,
            pattern_type=resource.pattern,
            acls=tuple([_acl(request, binding) async for binding in paced(bindings)]),
        )
        async for resource, bindings in paced(found)
    ]
    return _answer(request, ErrorCode.NONE, None, resources)


def _acl(request: Request, binding: AclBinding) -> Answer:
    entry = binding.entry
    return request.answer(
        "AclDescription",
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation,
        permission_type=entry.permission,
    )


def _answer(request: Request, error: ErrorCode, message: str | None, resources: Iterable[Answer]) -> Answer:
    return request.answer(
        "DescribeAclsResponse",
        throttle_time=NO_THROTTLE,
        error_code=error,
        error_message=message,
        resources=tuple(resources),
    )
