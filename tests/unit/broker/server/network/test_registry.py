from __future__ import annotations

from barnabas.broker.server.network.registry import HANDLERS
from barnabas.broker.wire.apis import APIS


def test_what_is_announced_is_answered_and_nothing_else():
    assert list(HANDLERS) == list(APIS)
    assert all(handler.__module__.endswith(key.name.lower()) for key, handler in HANDLERS.items())
