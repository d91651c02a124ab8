"""DeleteAcls (31): delete the ACLs that match filters.

Sources: ``KafkaApis.handleDeleteAcls`` and ``AclAuthorizer.deleteAcls`` of Kafka 2.8; KIP-140, KIP-290.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.broker.authorizer.authorizer import AclAuthorizer, UpdateFailedError
from barnabas.broker.replicas.turn import paced
from barnabas.broker.server.acl_requests import NO_AUTHORIZER, filter_of
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.acls import AclBinding, AclFilter
from barnabas.cluster.model.errors import ErrorCode

_Deleted = tuple[AclBinding, ErrorCode, str | None]


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return the deleted ACLs of each filter; one that several match is listed with the first.

    Raises:
        CloseConnectionError: A filter has an unknown code, or one that its version does not know.
    """
    filters = [filter_of(request, each) async for each in paced(request.body.filters)]
    if context.authorizer is None:
        message = f"{NO_AUTHORIZER}."
        results = [_result(request, ErrorCode.SECURITY_DISABLED, message, ()) for _ in filters]
    else:
        deleted = await _deleted(context.authorizer, filters)
        results = [_result(request, ErrorCode.NONE, None, deleted[number]) for number in range(len(filters))]
    return request.answer("DeleteAclsResponse", throttle_time=NO_THROTTLE, filter_results=tuple(results))


async def _deleted(authorizer: AclAuthorizer, filters: list[AclFilter]) -> dict[int, list[_Deleted]]:
    found: dict[int, list[_Deleted]] = {number: [] for number in range(len(filters))}
    resources = {each for asked in filters for each in authorizer.resources_of(asked)}
    async for resource in paced(sorted(resources)):
        error, message = ErrorCode.NONE, None
        known = frozenset(
            binding.entry
            for binding in authorizer.bindings(AclFilter(resource.type, resource.name, resource.pattern))
        )
        try:
            entries = await authorizer.delete(resource, filters)
        except UpdateFailedError as failed:
            error, message, entries = ErrorCode.UNKNOWN_SERVER_ERROR, str(failed), known
        for entry in sorted(entries):
            binding = AclBinding(resource, entry)
            first = next((n for n, asked in enumerate(filters) if asked.matches(binding)), None)
            if first is not None:
                found[first].append((binding, error, message))
    return found


def _result(request: Request, error: ErrorCode, message: str | None, deleted: Iterable[_Deleted]) -> Answer:
    return request.answer(
        "DeleteAclsFilterResult",
        error_code=error,
        error_message=message,
        matching_acls=tuple(
            request.answer(
                "DeleteAclsMatchingAcl",
                error_code=failed,
                error_message=reason,
                resource_type=binding.resource.type,
                resource_name=binding.resource.name,
                pattern_type=binding.resource.pattern,
                principal=binding.entry.principal,
                host=binding.entry.host,
                operation=binding.entry.operation,
                permission_type=binding.entry.permission,
            )
            for binding, failed, reason in deleted
        ),
    )
