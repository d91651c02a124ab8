from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.cluster.model.acls import (
    AccessControlEntry,
    AclOperation,
    AclPermission,
    ResourcePattern,
    ResourceType,
)
from barnabas.cluster.zk import store_acls
from barnabas.cluster.zk.store_acls import AclStore, StoredAcls

ORDERS = ResourcePattern(ResourceType.TOPIC, "orders")


@pytest.mark.parametrize(("count", "is_on_thread"), [(1, False), (2_000, True)])
async def test_the_loop_neither_encodes_nor_decodes_many_acls(
    zk: Any, monkeypatch: pytest.MonkeyPatch, count: int, is_on_thread: bool
) -> None:
    """10,000 ACLs of one resource took 30 ms in one turn, each."""
    threads = []

    def noted(work: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            threads.append(threading.current_thread())
            return work(*arguments)

        return call

    for name in ("encode_acls", "decode_acls"):
        monkeypatch.setattr(store_acls.acls, name, noted(getattr(store_acls.acls, name)))
    entries = frozenset(
        AccessControlEntry(f"User:{number}", "*", AclOperation.READ, AclPermission.ALLOW)
        for number in range(count)
    )
    store = AclStore(zk)
    await store.create_paths()
    assert await store.write(ORDERS, entries, None) == 0
    assert await store.read([ORDERS]) == {ORDERS: StoredAcls(entries, 0)}
    assert len(threads) == 2
    assert {thread is not threading.main_thread() for thread in threads} == {is_on_thread}
