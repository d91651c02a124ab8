from inspect import signature
from pkgutil import iter_modules

import pytest

from barnabas.broker.server import handlers
from barnabas.broker.server.handlers import fetch
from barnabas.broker.server.network.registry import HANDLERS
from barnabas.broker.wire.apis import APIS

NO_API = {"delayed_topics"}
"""What several handlers share."""


def test_what_is_announced_is_answered_and_nothing_else():
    assert list(HANDLERS) == list(APIS)
    assert {key.name.lower() for key in HANDLERS} | NO_API == {
        module.name for module in iter_modules(handlers.__path__)
    }


@pytest.mark.parametrize("api", HANDLERS, ids=lambda api: api.name)
def test_each_handler_takes_what_all_take(api):
    handler = HANDLERS[api]
    assert handler.__module__.endswith(f".{api.name.lower()}")
    taken = signature(handler).parameters.values()
    assert [each.annotation for each in taken] == [
        each.annotation for each in signature(fetch.handle).parameters.values()
    ]
