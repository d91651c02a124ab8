"""ApiVersions (18): the APIs and versions that this broker serves (KIP-35, KIP-511)."""

from __future__ import annotations

import re

from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.broker.wire.frames import NO_THROTTLE, Request, shape
from barnabas.cluster.model.errors import ErrorCode

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
"""The names and versions that clients may give themselves (``ApiVersionsRequest.java``)."""


async def handle(_context: ServerContext, request: Request) -> Answer:
    """Return all APIs and their versions; ``INVALID_REQUEST`` for a malformed client name or version."""
    return served_versions(request)


def served_versions(request: Request) -> Answer:
    """Return the answer of `handle`, also before the client is authenticated."""
    body = request.body
    is_valid = request.version < 3 or all(
        _SOFTWARE.fullmatch(text) for text in (body.client_software_name, body.client_software_version)
    )
    api_keys = [
        request.answer(
            "ApiVersion", api_key=api.key, min_version=api.announced_min, max_version=api.max_version
        )
        for api in APIS.values()
    ]
    return request.answer(
        "ApiVersionsResponse",
        error_code=ErrorCode.NONE if is_valid else ErrorCode.INVALID_REQUEST,
        api_keys=tuple(api_keys) if is_valid else (),
        throttle_time=NO_THROTTLE,
    )


def unsupported_version(error: ErrorCode = ErrorCode.UNSUPPORTED_VERSION) -> Answer:
    """Return the answer with this error to an ApiVersions request of a version that is not served.

    Every client can read version 0, which lists the versions of ApiVersions; from these the client chooses
    (KIP-511).
    """
    api = APIS[ApiKey.API_VERSIONS]
    row = {"api_key": api.key, "min_version": api.announced_min, "max_version": api.max_version}
    return shape(api.key, 0, "ApiVersionsResponse")(
        {
            "error_code": error,
            "api_keys": (shape(api.key, 0, "ApiVersion")(row),),
        }
    )
