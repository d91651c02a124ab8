from __future__ import annotations

from typing import Any

import pytest

from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.client.errors import NoNode
from barnabas.cluster.zk.stores.brokers import BrokerIdTaken, BrokerStore, EndpointTaken

ONE, TWO = BrokerId(1), BrokerId(2)
HERE = (Endpoint("PLAINTEXT", "h", 9092), Endpoint("GRPC", "h", 9093))
ELSEWHERE = (Endpoint("PLAINTEXT", "h", 9192), Endpoint("GRPC", "h", 9193))
PATH = "/brokers/ids/1"


@pytest.fixture(autouse=True)
async def parents(tree: Any) -> None:
    setup = tree.session(0)
    await setup.create("/brokers")
    await setup.create("/brokers/ids")


LOCKS = frozenset({"a lock", "another"})


async def register(
    session: Any,
    endpoints: Any = HERE,
    broker: BrokerId = ONE,
    locks: frozenset[str] = LOCKS,
    former_session: int | None = None,
) -> int:
    return await BrokerStore(session).register(
        broker, endpoints, None, now_ms=0, log_dir_locks=locks, former_session=former_session
    )


async def test_a_registration_is_ephemeral_and_its_czxid_the_epoch(zk: Any) -> None:
    epoch = await register(zk)
    assert (zk.tree.nodes[PATH].stat.czxid, zk.tree.nodes[PATH].stat.ephemeral_owner) == (epoch, 1)
    assert await BrokerStore(zk).live(watch=True) == {ONE: Broker(ONE, epoch, HERE)}
    assert zk.watched == ["/brokers/ids"]
    assert await BrokerStore(zk).read([ONE, TWO], watch=True) == {ONE: Broker(ONE, epoch, HERE)}
    assert zk.watched[1:] == [PATH, "/brokers/ids/2"]


async def test_a_registration_whose_answer_was_lost_stands(zk: Any) -> None:
    zk.lost_answers = 1
    epoch = await register(zk)
    assert zk.tree.nodes[PATH].stat.czxid == epoch


async def test_the_previous_incarnation_is_replaced_at_once(zk: Any, rival: Any) -> None:
    """KAFKA-1029: the same node, left by an old session, is replaced and not waited for."""
    before = await register(rival)
    after = await register(zk)
    assert after > before
    assert zk.tree.nodes[PATH].stat.ephemeral_owner == zk.id


async def test_the_previous_incarnation_loses_the_controllership(zk: Any, rival: Any) -> None:
    await register(rival)
    await rival.create("/controller", ephemeral=True)
    after = await register(zk)
    assert "/controller" not in zk.tree.nodes
    # One transaction: whoever wins the race finds the new life, and none without a registration.
    assert next(zk.tree.zxids) == after + 1


async def test_another_brokers_controllership_is_left_alone(zk: Any, rival: Any, tree: Any) -> None:
    await register(rival)
    await tree.session(3).create("/controller", ephemeral=True)
    await register(zk)
    assert tree.nodes["/controller"].stat.ephemeral_owner == 3
    assert tree.nodes[PATH].stat.ephemeral_owner == zk.id


async def test_a_previous_incarnation_that_ends_meanwhile(zk: Any, rival: Any, tree: Any) -> None:
    await register(rival)
    await rival.create("/controller", ephemeral=True)
    read = zk.exists

    async def gone_after(path: str) -> Any:
        stat = await read(path)
        rival.end()
        await tree.session(3).create("/controller", ephemeral=True)
        return stat

    zk.exists = gone_after
    assert await register(zk) == tree.nodes[PATH].stat.czxid
    assert tree.nodes["/controller"].stat.ephemeral_owner == 3


async def test_without_a_parent_there_is_no_registration(zk: Any, tree: Any) -> None:
    store = BrokerStore(zk)
    zk.before_write = lambda: tree.nodes.pop("/brokers/ids")
    with pytest.raises(NoNode):
        await store.register(ONE, HERE, None, now_ms=0)


@pytest.mark.parametrize(
    ("registered", "held"),
    [
        (LOCKS, frozenset({"of a copy", "of another copy"})),
        (LOCKS, frozenset({"a lock"})),  # the other one may be held by that process
        (frozenset(), LOCKS),  # as Kafka registers
        (frozenset(), frozenset()),
    ],
)
async def test_who_advertises_the_same_and_holds_not_all_locks_is_refused(
    zk: Any, rival: Any, registered: Any, held: Any
) -> None:
    first = await register(rival, locks=registered)
    with pytest.raises(
        BrokerIdTaken, match=r"/brokers/ids/1 is registered by another broker: it listens on PLAINTEXT://h"
    ):
        await register(zk, locks=held)
    assert zk.tree.nodes[PATH].stat.czxid == first


async def test_who_holds_all_locks_is_the_successor_whatever_it_advertises(zk: Any, rival: Any) -> None:
    before = await register(rival)
    assert await register(zk, ELSEWHERE, locks=LOCKS | {"of a new directory"}) > before


async def test_an_older_session_of_this_process_is_replaced(zk: Any, rival: Any) -> None:
    """One of its log directories has failed, and is unlocked since."""
    before = await register(rival)
    assert await register(zk, locks=frozenset({"a lock"}), former_session=rival.id) > before


async def test_a_registration_with_junk_for_locks_is_waited_for(zk: Any, rival: Any) -> None:
    await rival.create(PATH, b'{"version":4,"endpoints":[],"log_dir_locks":7}', ephemeral=True)
    with pytest.raises(BrokerIdTaken):
        await register(zk)


async def test_another_broker_at_that_address_is_refused(zk: Any, rival: Any) -> None:
    await register(rival, broker=TWO)
    with pytest.raises(
        EndpointTaken, match="/brokers/ids/2 advertises an address of this broker: PLAINTEXT://h:9092"
    ):
        await register(zk)
    assert PATH not in zk.tree.nodes


async def test_a_node_that_is_no_brokers_is_skipped(zk: Any) -> None:
    for name in ("10", "2", "x", "007", "-1", "2147483648", "\u0661"):
        await zk.create(f"/brokers/ids/{name}")
    assert await BrokerStore(zk).ids() == [2, 10]


async def test_a_registration_that_cannot_be_read_keeps_no_one_from_joining(zk: Any, rival: Any) -> None:
    await rival.create("/brokers/ids/2", b"by hand")
    await register(zk)
    assert (await BrokerStore(zk).read([ONE])).keys() == {ONE}


async def test_an_id_taken_by_what_cannot_be_read_is_taken(zk: Any, rival: Any) -> None:
    await rival.create(PATH, b"by hand")
    with pytest.raises(BrokerIdTaken, match="it listens on what cannot be read"):
        await register(zk)
