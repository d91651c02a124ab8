from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.cluster.model.acls import (
    AccessControlEntry,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from barnabas.cluster.zk.schema.acls import ACL_CHANGES
from barnabas.cluster.zk.stores import acls as store_acls
from barnabas.cluster.zk.stores.acls import OLDEST, AclStore, StoredAcls

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


async def test_of_known_notifications_only_the_oldest_are_read_again(zk: Any) -> None:
    """10,000 changes in a row were all read again at each change."""
    store, entry = AclStore(zk), AccessControlEntry("User:a", "*", AclOperation.READ, AclPermission.ALLOW)
    await store.create_paths()
    for number in range(OLDEST + 20):
        await store.write(ORDERS._replace(name=f"t-{number}"), frozenset({entry}), None)
    first = dict.fromkeys(ACL_CHANGES, -1)
    everything = await store.changes(first)
    assert [each.number for each in everything] == list(range(OLDEST + 20))
    later = await store.changes(first | {PatternType.LITERAL: OLDEST + 16})
    assert [each.number for each in later] == [*range(OLDEST), *range(OLDEST + 17, OLDEST + 20)]


async def test_the_loop_does_not_sort_many_names(zk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """100,000 notifications or resources took 0.2 s in one turn."""
    monkeypatch.setattr(store_acls, "_NAMES_AT_ONCE", 2)
    monkeypatch.setattr(store_acls, "_CHANGES_AT_ONCE", 2)
    threads, portions = [], []

    def noted(work: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            threads.append(threading.current_thread() is threading.main_thread())
            return work(*arguments)

        return call

    for name in ("_resources", "_notifications"):
        monkeypatch.setattr(store_acls, name, noted(getattr(store_acls, name)))
    get_many = zk.get_many

    async def counted(paths: Any, **options: Any) -> Any:
        portions.append(len(paths))
        return await get_many(paths, **options)

    monkeypatch.setattr(zk, "get_many", counted)
    store, entry = AclStore(zk), AccessControlEntry("User:a", "*", AclOperation.READ, AclPermission.ALLOW)
    await store.create_paths()
    resources = [ORDERS._replace(name=f"t-{number}") for number in range(3)]
    for each in reversed(resources):
        await store.write(each, frozenset({entry}), None)
    assert await store.resources() == resources
    assert [each.resource for each in await store.changes(dict.fromkeys(ACL_CHANGES, -1))] == resources[::-1]
    assert threads.count(False) == 2
    assert portions == [2, 1]
