"""CreateAcls (30): add ACLs; this broker obeys them when it answers, the others within a second.

Sources: ``KafkaApis.handleCreateAcls`` and ``AclAuthorizer.createAcls`` of Kafka 2.8; KIP-140, KIP-290.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from barnabas.broker.authorizer.authorizer import AclAuthorizer, UpdateFailedError
from barnabas.broker.server.acl_requests import (
    NO_AUTHORIZER,
    BadAclError,
    acls_of,
    binding_of,
)
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.acls import AccessControlEntry, ResourcePattern
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.runtime.turn import paced

_Result = tuple[ErrorCode, str | None]


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return the result of each ACL, in the order of the request; one that exists already is a success.

    Raises:
        CloseConnectionError: An ACL has an unknown code, or one that its version does not know.
    """
    asked = await acls_of(request)
    if context.authorizer is None:
        results: list[_Result] = [(ErrorCode.SECURITY_DISABLED, f"{NO_AUTHORIZER}.")] * len(asked)
    else:
        results = await _created(context.authorizer, asked)
    answers = [
        request.answer("AclCreationResult", error_code=error, error_message=message)
        async for error, message in paced(results)
    ]
    return request.answer("CreateAclsResponse", throttle_time=NO_THROTTLE, results=tuple(answers))


async def _created(authorizer: AclAuthorizer, asked: tuple[Any, ...]) -> list[_Result]:
    results: dict[int, _Result] = {}
    wanted: dict[ResourcePattern, dict[int, AccessControlEntry]] = defaultdict(dict)
    async for number, each in paced(enumerate(asked)):
        try:
            binding = binding_of(each)
        except BadAclError as error:
            results[number] = error.error, str(error)
        else:
            wanted[binding.resource][number] = binding.entry
    async for resource, entries in paced(wanted.items()):
        result: _Result = ErrorCode.NONE, None
        try:
            await authorizer.create(resource, entries.values())
        except UpdateFailedError as error:
            result = ErrorCode.UNKNOWN_SERVER_ERROR, str(error)
        results |= dict.fromkeys(entries, result)
    return [results[number] async for number in paced(range(len(asked)))]
