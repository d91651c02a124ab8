"""DeleteAcls (31): delete the ACLs that match filters.

Sources: ``KafkaApis.handleDeleteAcls`` and ``AclAuthorizer.deleteAcls`` of Kafka 2.8; KIP-140, KIP-290.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.broker.authorizer.authorizer import AclAuthorizer, UpdateFailedError
from barnabas.broker.server.acl_requests import NO_AUTHORIZER, filter_of
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.acls import AclBinding, AclFilter
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.runtime.turn import freed_in_turns, paced, sorted_in_turns
from barnabas.cluster.zk.client.errors import ZooKeeperError

_Deleted = tuple[AclBinding, ErrorCode, str | None]


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return the deleted ACLs of each filter; one that several match is listed with the first.

    Raises:
        CloseConnectionError: A filter has an unknown code, or one that its version does not know.
    """
    filters = [filter_of(request, each) async for each in paced(request.body.filters)]
    if context.authorizer is None:
        refused = await _result(request, ErrorCode.SECURITY_DISABLED, f"{NO_AUTHORIZER}.", ())
        return _answer(request, [refused] * len(filters))
    try:
        deleted = await _deleted(context.authorizer, filters)
    except ZooKeeperError as error:
        message = f"ZooKeeper did not answer: {error}"
        refused = await _result(request, ErrorCode.UNKNOWN_SERVER_ERROR, message, ())
        return _answer(request, [refused] * len(filters))
    results = [
        await _result(request, ErrorCode.NONE, None, deleted.get(number, ()))
        async for number in paced(range(len(filters)))
    ]
    await freed_in_turns(filters, deleted)
    return _answer(request, results)


def _answer(request: Request, results: list[Answer]) -> Answer:
    return request.answer("DeleteAclsResponse", throttle_time=NO_THROTTLE, filter_results=tuple(results))


async def _deleted(authorizer: AclAuthorizer, filters: list[AclFilter]) -> dict[int, list[_Deleted]]:
    """Delete what matches; return it by the number of the first filter that matches it.

    Raises:
        ZooKeeperError: ZooKeeper cannot be read; nothing is deleted.
    """
    found: dict[int, list[_Deleted]] = {}
    index = await authorizer.index_of(filters)
    for resource in await authorizer.resources_of(index):
        error, message = ErrorCode.NONE, None
        known = authorizer.known(resource)
        try:
            entries = await authorizer.delete(resource, index)
        except UpdateFailedError as failed:
            error, message, entries = ErrorCode.UNKNOWN_SERVER_ERROR, str(failed), known
        async for entry in paced(await sorted_in_turns(entries)):
            binding = AclBinding(resource, entry)
            first = index.first(binding)
            if first is not None:
                found.setdefault(first, []).append((binding, error, message))
    unused = [index]
    del index
    await freed_in_turns(unused)
    return found


async def _result(
    request: Request, error: ErrorCode, message: str | None, deleted: Iterable[_Deleted]
) -> Answer:
    return request.answer(
        "DeleteAclsFilterResult",
        error_code=error,
        error_message=message,
        matching_acls=tuple(
            [
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
                async for binding, failed, reason in paced(deleted)
            ]
        ),
    )
