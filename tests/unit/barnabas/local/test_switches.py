"""A broker of a cluster that does not run is cut off; the servers are sockets of the test."""

import asyncio
import contextlib

import pytest

from barnabas.cluster.model.ids import BrokerId
from barnabas.local.cluster import LocalCluster
from barnabas.local.errors import ClusterError
from barnabas.local.switches import Switches

pytestmark = pytest.mark.usefixtures("nothing_is_left_open")

ONE, TWO, THREE = map(BrokerId, (1, 2, 3))


@pytest.fixture
def cluster(tmp_path):
    return LocalCluster(tmp_path)


@pytest.fixture
def switches(cluster):
    made = Switches(cluster)
    yield made
    made.close()


def way(cluster, broker, other=None):
    """The address by which a broker reaches ZooKeeper or another broker, and the one behind it."""
    overrides = cluster.brokers[broker].overrides
    if other is None:
        return overrides["zookeeper.connect"], cluster.zookeeper_connect
    detours = dict(pair.split("=") for pair in overrides["inter.broker.detours"].split(","))
    target = cluster.brokers[other].grpc
    return detours[target], target


class Echo:
    """A server at an address, and a client that reaches it by another one."""

    def __init__(self, via, target):
        self._via, self._target = via, target

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, *self._target.split(":"))
        self._reader, self._writer = await asyncio.open_connection(*self._via.split(":"))
        return self

    async def __aexit__(self, *_):
        self._writer.close()
        self._server.close()

    async def _serve(self, reader, writer):
        with contextlib.suppress(asyncio.CancelledError):  # the test is over
            while data := await reader.read(100):
                writer.write(data)
        writer.close()

    def send(self, data):
        self._writer.write(data)

    async def receive(self, count):
        async with asyncio.timeout(60):
            return await self._reader.readexactly(count)


async def test_a_broker_that_is_cut_off_reaches_nobody_until_it_is_healed(cluster, switches):
    async with (
        Echo(*way(cluster, TWO)) as to_zookeeper,
        Echo(*way(cluster, TWO, ONE)) as from_two,
        Echo(*way(cluster, ONE, THREE)) as past_two,
    ):
        assert len({way(cluster, broker)[0] for broker in (ONE, TWO, THREE)}) == 3
        switches.cut(TWO)
        from_two.send(b"a")
        to_zookeeper.send(b"b")
        past_two.send(b"c")
        assert await past_two.receive(1) == b"c"  # sent after what is cut, and on the same loop
        for cut in (from_two, to_zookeeper):
            assert not cut._reader._buffer
        switches.heal(TWO)
        assert (await from_two.receive(1), await to_zookeeper.receive(1)) == (b"a", b"b")


async def test_a_link_is_cut_while_either_end_is(cluster, switches):
    async with Echo(*way(cluster, ONE, TWO)) as link, Echo(*way(cluster, THREE)) as other:
        switches.cut(ONE)
        switches.cut(TWO)
        switches.heal(TWO)
        link.send(b"a")
        other.send(b"b")
        assert await other.receive(1) == b"b"
        assert not link._reader._buffer
        switches.heal_all()
        assert await link.receive(1) == b"a"


def test_a_second_cut_and_what_is_not_cut_are_errors(switches):
    switches.cut(ONE)
    with pytest.raises(ClusterError, match="broker 1 is cut off already"):
        switches.cut(ONE)
    with pytest.raises(ClusterError, match="broker 2 is not cut off"):
        switches.heal(TWO)
    for change in (switches.cut, switches.heal):
        with pytest.raises(ClusterError, match="there is no broker 9"):
            change(BrokerId(9))


def test_a_broker_that_is_started_by_hand_goes_past_the_switches(cluster, switches):
    cluster.write_properties(ONE)
    written = cluster.brokers[ONE].properties.read_text()
    assert f"zookeeper.connect={cluster.zookeeper_connect}\n" in written
    assert "inter.broker.detours" not in written
