"""The answer ``ILLEGAL_SASL_STATE`` to a request that comes in the middle of an authentication.

Sources: ``SaslServerAuthenticator.handleSaslToken`` and each request's ``getErrorResponse`` of release 2.8.
Only APIs with one error for the whole request are answered: the others would require reading the whole
request of an unknown client.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, get_origin

from barnabas.broker.server.context import Answer
from barnabas.broker.server.handlers import api_versions
from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.broker.wire.frames import NO_THROTTLE, Prefix
from barnabas.broker.wire.schemas import RESPONSE, load_schema
from barnabas.cluster.model.errors import ErrorCode

_NOTHING = (NO_THROTTLE, -1, "", b"")
"""The empty values, from which each field takes the first one of its type."""

_MESSAGES: Mapping[str, Any] = {
    "error_code": ErrorCode.ILLEGAL_SASL_STATE,
    "error_message": "Request is not valid given the current SASL state.",
}


def illegal_state(prefix: Prefix) -> Answer | None:
    """Return the answer to a request; None if its API or version is not served, or has no such answer."""
    api = APIS.get(prefix.api_key)
    if api is None or not api.serves(prefix.api_version):
        is_known = api is not None and api.key == ApiKey.API_VERSIONS
        return api_versions.unsupported_version(ErrorCode.ILLEGAL_SASL_STATE) if is_known else None
    return _answer(prefix.api_key, prefix.api_version)


@cache
def _answer(api_key: int, version: int) -> Answer | None:
    schema = load_schema(api_key, version, RESPONSE)
    values = {
        field.name: _MESSAGES[field.name] if field.name in _MESSAGES else _nothing(field.type)
        for field in fields(schema)
        if field.name in _MESSAGES or field.default is MISSING
    }
    return schema(**values) if "error_code" in values else None


def _nothing(kind: Any) -> Any:
    """Return the empty value of a field."""
    if isinstance(kind, type):
        return next(value for value in _NOTHING if isinstance(value, kind))
    return () if get_origin(kind) is tuple else None
