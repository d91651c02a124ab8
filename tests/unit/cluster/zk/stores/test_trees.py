from __future__ import annotations

from typing import Any

import pytest

from barnabas.cluster.model.epochs import ControllerEpoch, EpochVersion
from barnabas.cluster.zk.client.errors import ControllerMoved, RequestFailed
from barnabas.cluster.zk.stores.fence import Fence
from barnabas.cluster.zk.stores.trees import delete_below, delete_whole

FENCE, STALE = Fence(ControllerEpoch(0), EpochVersion(0)), Fence(ControllerEpoch(0), EpochVersion(8))


@pytest.fixture(autouse=True)
async def nodes(zk: Any) -> None:
    for path in ("/controller_epoch", "/a", "/a/b", "/a/b/c", "/a/d", "/e", "/f"):
        await zk.create(path)


@pytest.mark.parametrize("fence", [FENCE, None])
async def test_nodes_go_with_all_below_them(zk: Any, fence: Fence | None) -> None:
    await delete_whole(zk, ["/a", "/e", "/never"], fence)
    assert sorted(zk.tree.nodes) == ["/", "/controller_epoch", "/f"]


async def test_a_node_stays_without_all_below_it(zk: Any) -> None:
    await delete_below(zk, "/a", FENCE)
    await delete_below(zk, "/never", FENCE)
    assert sorted(zk.tree.nodes) == ["/", "/a", "/controller_epoch", "/e", "/f"]


async def test_who_puts_something_below_meanwhile_does_not_keep_it(zk: Any, tree: Any) -> None:
    late = iter(["/e/1", "/e/2"])
    children = zk.get_children

    async def meanwhile(path: str) -> Any:
        found = await children(path)
        for added in late:
            await tree.session(2).create(added)
            break
        return found

    await zk.create("/e/0")
    zk.get_children = meanwhile
    await delete_whole(zk, ["/e"], FENCE)
    assert "/e" not in zk.tree.nodes


async def test_the_fence_keeps_all(zk: Any) -> None:
    before = dict(zk.tree.nodes)
    with pytest.raises(ControllerMoved):
        await delete_whole(zk, ["/a"], STALE)
    assert zk.tree.nodes == before


async def test_what_is_refused_for_another_reason_is_an_error(zk: Any) -> None:
    refusal = RequestFailed("/a", detail="NoAuthError")

    async def refuse(transactions: Any) -> Any:
        return [refusal for _ in transactions]

    zk.multi_many = refuse
    with pytest.raises(RequestFailed, match="NoAuthError"):
        await delete_whole(zk, ["/a"], None)
