from __future__ import annotations

from typing import Any

import pytest

from barnabas.cluster.model.controllership import Claim, Controllership, Owner
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch, EpochVersion
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.client.errors import ControllerMoved
from barnabas.cluster.zk.client.operations import Create, Delete, Node, Set, Stat
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.stores.controller import ControllerStore
from barnabas.cluster.zk.stores.fence import Fence

ONE, TWO = BrokerId(1), BrokerId(2)
BY_HAND = b'{"version":1,"brokerid":2,"timestamp":"1"}'


@pytest.fixture
async def registered(zk: Any, rival: Any) -> None:
    """Broker 1 in the session under test, broker 2 in the other."""
    await zk.multi(Create("/brokers"), Create("/brokers/ids"), Create("/brokers/ids/1", ephemeral=True))
    await rival.create("/brokers/ids/2", ephemeral=True)


async def test_the_first_controller_of_a_cluster_has_epoch_1(zk: Any) -> None:
    store = ControllerStore(zk)
    assert await store.look(watch=True) == Controllership(None)
    assert zk.watched == ["/controller"]
    assert await store.elect(ONE, 1690000000000) == Fence(1, 1)
    assert zk.tree.nodes["/controller"].data == b'{"version":1,"brokerid":1,"timestamp":"1690000000000"}'
    assert zk.tree.nodes["/controller_epoch"].data == b"1"
    assert await store.look() == Controllership(Claim(ONE, Owner.THIS_SESSION, 0), 1)


@pytest.mark.usefixtures("registered")
async def test_an_elected_controllers_node_belongs_to_the_session_of_its_registration(
    zk: Any, rival: Any
) -> None:
    await ControllerStore(rival).elect(TWO, 0)
    assert await ControllerStore(zk).look() == Controllership(Claim(TWO, Owner.NAMED_BROKER, 0), 1)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("named", [b"1", b"77"], ids=["this broker", "nobody we know"])
async def test_a_hand_written_id_is_the_former_controllers_node(zk: Any, rival: Any, named: bytes) -> None:
    await ControllerStore(rival).elect(TWO, 0)
    await zk.set("/controller", BY_HAND.replace(b"2", named))
    expected = Claim(BrokerId(int(named)), Owner.OTHER_BROKER, 1)
    assert (await ControllerStore(zk).look()).claim == expected
    assert (await ControllerStore(rival).look()).claim == Claim(expected.named, Owner.THIS_SESSION, 1)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("ephemeral", [False, True])
async def test_a_node_made_by_hand_is_nobodys(zk: Any, tree: Any, *, ephemeral: bool) -> None:
    await tree.session(3).create("/controller", BY_HAND, ephemeral=ephemeral)
    assert (await ControllerStore(zk).look()).claim == Claim(TWO, Owner.NOBODY, 0)


@pytest.mark.parametrize("content", [b"", b"?", b'{"version":1,"brokerid":-1,"timestamp":"1"}'])
async def test_what_names_nobody_is_found_with_its_version(zk: Any, rival: Any, content: bytes) -> None:
    await rival.create("/controller", content)
    assert (await ControllerStore(zk).look()).claim == Claim(None, Owner.NOBODY, 0)


async def test_an_epoch_that_cannot_be_read_is_none(zk: Any) -> None:
    await zk.create("/controller_epoch", b"many")
    assert await ControllerStore(zk).look() == Controllership(None, 0)


async def test_a_stray_node_is_replaced_in_the_transaction_of_the_election(zk: Any, rival: Any) -> None:
    await rival.create("/controller", b"?")
    store = ControllerStore(zk)
    seen = (await store.look()).claim
    assert await store.elect(ONE, 0, seen) == Fence(1, 1)
    assert (await store.look()).claim == Claim(ONE, Owner.THIS_SESSION, 0)


@pytest.mark.usefixtures("registered")
async def test_a_stray_node_that_another_has_replaced_is_left_to_it(zk: Any, rival: Any) -> None:
    """The winner's node has the very version that the stray one had."""
    await rival.create("/controller", b"?")
    seen = (await ControllerStore(zk).look()).claim
    assert seen == (await ControllerStore(rival).look()).claim
    await ControllerStore(rival).elect(TWO, 0, seen=(await ControllerStore(rival).look()).claim)
    with pytest.raises(ControllerMoved, match="another came before broker 1"):
        await ControllerStore(zk).elect(ONE, 0, seen)
    assert zk.tree.nodes["/controller_epoch"].data == b"1"


@pytest.mark.usefixtures("registered")
async def test_a_stray_node_that_another_replaces_just_then_is_left_to_it(zk: Any, rival: Any) -> None:
    await rival.create("/controller", b"?")
    await zk.create("/controller_epoch", b"4")
    seen = (await ControllerStore(zk).look()).claim
    by_rival = [
        Delete("/controller"),
        Create("/controller", BY_HAND, ephemeral=True),
        Set("/controller_epoch", b"5"),
    ]
    zk.before_write = lambda: rival.tree.carry_out(by_rival, rival.id)
    with pytest.raises(ControllerMoved, match="broker 2 is controller at epoch 5, not broker 1"):
        await ControllerStore(zk).elect(ONE, 0, seen)


async def test_a_stray_node_that_vanishes_is_no_election(zk: Any) -> None:
    with pytest.raises(ControllerMoved, match="has changed"):
        await ControllerStore(zk).elect(ONE, 0, Claim(None, Owner.NOBODY, 0))


@pytest.mark.usefixtures("registered")
async def test_the_loser_of_an_election_gets_an_error(zk: Any, rival: Any) -> None:
    await ControllerStore(rival).elect(TWO, 0)
    with pytest.raises(ControllerMoved, match="broker 2 is controller at epoch 1, not broker 1"):
        await ControllerStore(zk).elect(ONE, 0)
    assert zk.tree.nodes["/controller_epoch"].data == b"1"


async def test_an_epoch_that_was_lowered_by_hand_does_not_come_again(zk: Any) -> None:
    store = ControllerStore(zk)
    await store.elect(ONE, 0)
    await store.give_up()
    await zk.delete("/controller_epoch")
    assert await store.elect(ONE, 0, above=ControllerEpoch(7)) == Fence(8, 1)


async def test_the_epoch_moved_between_reading_and_writing(zk: Any, rival: Any) -> None:
    await ControllerStore(rival).elect(TWO, 0)
    rival.end()

    def another_election() -> None:
        rival.tree.nodes["/controller_epoch"] = Node(b"2", Stat(2, node.stat.czxid, node.stat.mzxid))

    node = zk.tree.nodes["/controller_epoch"]
    zk.before_write = another_election
    with pytest.raises(ControllerMoved, match="the winner has vanished already"):
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
    zk.tree.nodes["/controller_epoch"] = Node(b"0", node.stat)
    zk.before_write = lambda: zk.tree.nodes.update({"/controller_epoch": node})
    with pytest.raises(ControllerMoved):
        await ControllerStore(zk).elect(ONE, 0)


async def test_only_the_owner_gives_up(zk: Any, rival: Any) -> None:
    await ControllerStore(zk).elect(ONE, 0)
    await ControllerStore(rival).give_up()
    assert "/controller" in zk.tree.nodes
    await ControllerStore(zk).give_up()
    await ControllerStore(zk).give_up()
    assert "/controller" not in zk.tree.nodes


async def test_giving_up_does_not_delete_the_node_of_a_new_controller(zk: Any, rival: Any) -> None:
    """The other's node has the very version that ours had when it was read."""
    await ControllerStore(zk).elect(ONE, 0)

    def replaced() -> None:
        del zk.tree.nodes["/controller"]
        rival.tree.carry_out([Create("/controller", BY_HAND, ephemeral=True)], rival.id)
        zk.tree.nodes["/controller_epoch"] = Node(b"2", Stat(2, 1, 9))

    zk.before_write = replaced
    await ControllerStore(zk).give_up()
    assert zk.tree.nodes["/controller"].data == BY_HAND


async def test_a_record_is_read_as_it_was_written(zk: Any) -> None:
    store = ControllerStore(zk)
    fence = await store.elect(ONE, 0)
    assert await store.record_epoch(fence) == {}
    await store.record_brokers({ONE: BrokerEpoch(2**40)}, fence)
    assert zk.tree.nodes["/barnabas/controller"].data == (
        b'{"version":1,"controller_epoch":1,"broker_epochs":{"1":1099511627776}}'
    )
    assert await store.record_epoch(fence) == {ONE: 2**40}


async def test_controller_nodes_deleted_just_after_an_election_do_not_lower_the_epoch(
    zk: Any, rival: Any
) -> None:
    """Broker 2 has read epoch 1 last, and was told nothing of 2 and 3."""
    one, two = ControllerStore(zk), ControllerStore(rival)
    for epoch in (1, 2, 3):
        fence = await one.elect(ONE, 0, above=ControllerEpoch(epoch - 1))
        assert fence.controller_epoch == epoch
        await one.record_epoch(fence)
        await zk.multi(Delete("/controller"), Delete("/controller_epoch"))
    assert (await two.elect(TWO, 0, above=ControllerEpoch(1))).controller_epoch == 4


@pytest.mark.parametrize(
    "content", [b"", b"junk", b'{"version":1,"controller_epoch":1,"broker_epochs":{"x":1}}']
)
async def test_an_unreadable_record_is_written_again(zk: Any, content: bytes) -> None:
    store = ControllerStore(zk)
    await zk.multi(Create("/barnabas"), Create("/barnabas/controller", content))
    fence = await store.elect(ONE, 0)
    assert await store.record_epoch(fence) == {}
    assert await store.record_epoch(fence) == {}


async def test_a_former_controller_records_nothing(zk: Any) -> None:
    store = ControllerStore(zk)
    await store.record_epoch(await store.elect(ONE, 0))
    with pytest.raises(ControllerMoved):
        await store.record_brokers({}, Fence(ControllerEpoch(1), EpochVersion(0)))


async def test_after_the_last_epoch_of_all_nobody_is_elected(zk: Any) -> None:
    await zk.create("/controller_epoch", b"2147483647")
    with pytest.raises(ZnodeDecodeError, match=r"holds b'2147483647', expected an epoch below 2147483647"):
        await ControllerStore(zk).elect(ONE, 0)
    assert zk.tree.nodes["/controller_epoch"].data == b"2147483647"
    assert "/controller" not in zk.tree.nodes
