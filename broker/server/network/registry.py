"""The table of handlers: one for each API that the table of APIs announces, no more."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from barnabas.broker.server import handlers
from barnabas.broker.server.context import Handler
from barnabas.broker.wire.apis import APIS, ApiKey


def _handler_of(api: ApiKey) -> Handler:
    """Return the function ``handle`` of the module that is named as the API."""
    handle: Handler = import_module(f"{handlers.__name__}.{api.name.lower()}").handle
    return handle


HANDLERS: Mapping[ApiKey, Handler] = MappingProxyType({api: _handler_of(api) for api in map(ApiKey, APIS)})
"""The handler of each served API."""
