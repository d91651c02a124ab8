from __future__ import annotations

from typing import Any

import pytest

from barnabas.cluster.model.epochs import ControllerEpoch, EpochVersion
from barnabas.cluster.zk.client.errors import ControllerMoved, NodeExists, NoNode, SessionExpired
from barnabas.cluster.zk.client.operations import Create, Delete, Set, Stat
from barnabas.cluster.zk.stores.fence import Fence, write, write_many

FENCE = Fence(ControllerEpoch(5), EpochVersion(0))


@pytest.fixture
async def fenced(zk: Any) -> Any:
    await zk.create("/controller_epoch", b"5")
    return zk


async def test_answers_count_without_the_check(fenced: Any) -> None:
    assert await write(fenced, FENCE, Create("/a"), Create("/b")) == ["/a", "/b"]
    outcomes = await write_many(fenced, FENCE, [[Create("/c")], [Create("/d"), Create("/a")], [Delete("/b")]])
    assert outcomes[0] == ["/c"]
    assert isinstance(outcomes[1], NodeExists)
    assert outcomes[1].operation == 1
    assert outcomes[2] == [None]


async def test_a_refused_write_is_raised(fenced: Any) -> None:
    with pytest.raises(NoNode) as caught:
        await write(fenced, FENCE, Set("/missing", b""))
    assert caught.value.operation == 0


async def test_once_another_was_elected_nothing_is_written(fenced: Any) -> None:
    await fenced.set("/controller_epoch", b"6")
    for operation in (Create("/a"), Create("/controller_epoch"), Delete("/missing")):
        with pytest.raises(ControllerMoved, match="version 0 any more: controller epoch 5 is over"):
            await write(fenced, FENCE, operation)
    assert fenced.tree.children("/") == ["controller_epoch"]


async def test_without_the_node_there_is_no_fence_to_pass(zk: Any) -> None:
    with pytest.raises(ControllerMoved):
        await write(zk, FENCE, Create("/a"))


async def test_what_is_no_controllers_write_goes_unchecked(zk: Any) -> None:
    assert await write(zk, None, Create("/a")) == ["/a"]
    assert await write(zk, None, Set("/a", b"")) == [Stat(1, 1, 2)]
    outcomes = await write_many(zk, None, [[Create("/a")], [Create("/b")]])
    assert isinstance(outcomes[0], NodeExists)
    assert outcomes[1] == ["/b"]


@pytest.mark.parametrize("fence", [None, FENCE])
async def test_no_answer_at_all_is_raised(
    zk: Any, fence: Fence | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def expired(_transactions: Any) -> list[Any]:
        return [SessionExpired("over")]

    monkeypatch.setattr(zk, "multi_many", expired)
    with pytest.raises(SessionExpired):
        await write_many(zk, fence, [[Create("/a")]])
