from __future__ import annotations

from typing import Any

import pytest

from cluster.model.ids import BrokerId
from cluster.zk.errors import ControllerMoved
from cluster.zk.fence import Fence
from cluster.zk.store_controller import ActiveController, ControllerStore

ONE, TWO = BrokerId(1), BrokerId(2)


async def test_the_first_controller_of_a_cluster_has_epoch_1(zk: Any) -> None:
    store = ControllerStore(zk)
    assert await store.active(watch=True) is None
    assert zk.watched == ["/controller"]
    assert await store.elect(ONE, 1690000000000) == Fence(1, 1)
    assert zk.tree.nodes["/controller"].data == b'{"version":1,"brokerid":1,"timestamp":"1690000000000"}'
    assert zk.tree.nodes["/controller_epoch"].data == b"1"
    assert await store.active() == ActiveController(ONE, is_this_session=True)


async def test_the_loser_of_a_race_is_told(zk: Any, rival: Any) -> None:
    await ControllerStore(rival).elect(TWO, 0)
    with pytest.raises(ControllerMoved, match="broker 2 is controller at epoch 1, not broker 1"):
        await ControllerStore(zk).elect(ONE, 0)
    assert zk.tree.nodes["/controller_epoch"].data == b"1"


async def test_the_epoch_moved_between_reading_and_writing(zk: Any, rival: Any) -> None:
    await ControllerStore(rival).elect(TWO, 0)
    rival.end()

    def another_reign() -> None:
        rival.tree.nodes["/controller_epoch"] = type(node)(
            b"2", type(node.stat)(2, node.stat.czxid, node.stat.mzxid)
        )

    node = zk.tree.nodes["/controller_epoch"]
    zk.before_write = another_reign
    with pytest.raises(ControllerMoved, match="the winner is gone already"):
        await ControllerStore(zk).elect(ONE, 0)


async def test_an_election_whose_answer_was_lost_is_won(zk: Any) -> None:
    await ControllerStore(zk).elect(ONE, 0)
    zk.end()
    zk.lost_answers = 1
    assert await ControllerStore(zk).elect(ONE, 0) == Fence(2, 2)


async def test_another_session_of_the_same_broker_is_another_controller(zk: Any, rival: Any) -> None:
    """A former life of this broker holds the node at the very epoch that this one wants to write."""
    await ControllerStore(rival).elect(ONE, 0)
    node = zk.tree.nodes["/controller_epoch"]
    zk.tree.nodes["/controller_epoch"] = type(node)(b"0", node.stat)
    zk.before_write = lambda: zk.tree.nodes.update({"/controller_epoch": node})
    with pytest.raises(ControllerMoved):
        await ControllerStore(zk).elect(ONE, 0)


async def test_only_the_owner_gives_up(zk: Any, rival: Any) -> None:
    fence = await ControllerStore(zk).elect(ONE, 0)
    await ControllerStore(rival).give_up()
    assert await ControllerStore(rival).active() == ActiveController(ONE, is_this_session=False)
    with pytest.raises(ControllerMoved):
        await ControllerStore(zk).give_up(Fence(fence.controller_epoch, 99))
    await ControllerStore(zk).give_up(fence)
    await ControllerStore(zk).give_up(fence)
    assert await ControllerStore(rival).active() is None
