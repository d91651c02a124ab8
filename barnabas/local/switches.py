"""The network between the processes of a local cluster, in which a broker can be cut off without root."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from barnabas.cluster.model.ids import BrokerId
from barnabas.local.broker_process import BrokerProcess
from barnabas.local.cluster import LocalCluster
from barnabas.local.errors import ClusterError
from barnabas.local.links import HEALTHY, Condition, Links
from barnabas.local.loop_thread import LoopThread

ZOOKEEPER = "zookeeper"
"""The node of the network that is ZooKeeper; a broker is its id as text."""

_CUT = Condition(is_cut=True)


async def detours(
    links: Links,
    broker: BrokerProcess,
    brokers: Iterable[BrokerProcess],
    zookeeper: str,
    waits_for_zookeeper: Callable[[], bool],
) -> dict[str, str]:
    """Return the settings that lead a broker to ZooKeeper and to the other brokers through switches.

    Args:
        links: Gets a switch for each of them.
        broker: The broker.
        brokers: All brokers.
        zookeeper: ``host:port`` of ZooKeeper.
        waits_for_zookeeper: Whether a connection to a ZooKeeper that does not listen yet waits for it.
    """
    me = str(broker.id)
    others = [other for other in brokers if other is not broker]
    return {
        "zookeeper.connect": await links.join(me, ZOOKEEPER, zookeeper, waits_for_zookeeper),
        "inter.broker.detours": ",".join(
            [f"{other.grpc}={await links.join(me, str(other.id), other.grpc)}" for other in others]
        ),
    }


class Switches:
    """The switches of a cluster with an embedded ZooKeeper, on a thread of their own.

    Brokers that are started later connect through them. The settings are those of the processes alone: a
    broker that is started by hand from its server.properties goes past the switches.

    Args:
        cluster: A cluster of which no broker was started.

    Attributes:
        is_starting: Whether connections to a ZooKeeper that does not listen wait for it, instead of being
            reset; to be unset once the cluster is ready.
    """

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster = cluster
        self._links = Links()
        self._cut: set[BrokerId] = set()
        self._thread = LoopThread("barnabas-switches")
        self.is_starting = True
        self._thread.run(self._join())

    async def _join(self) -> None:
        brokers, zookeeper = self._cluster.brokers.values(), self._cluster.zookeeper_connect
        for broker in brokers:
            broker.overrides |= await detours(
                self._links, broker, brokers, zookeeper, lambda: self.is_starting
            )

    def cut(self, broker_id: BrokerId) -> None:
        """Cut a broker off from ZooKeeper and from the other brokers; clients still reach it.

        Nothing is refused: as in a network that drops packets, connections stay open and silent.

        Raises:
            ClusterError: There is no broker of this id, or it is cut off already.
        """
        self._cluster.broker(broker_id)
        if broker_id in self._cut:
            raise ClusterError(f"broker {broker_id} is cut off already")
        self._thread.run(self._change(broker_id, is_cut=True))

    def heal(self, broker_id: BrokerId) -> None:
        """Connect a broker again. Its link to another broker that is cut off stays cut.

        Raises:
            ClusterError: There is no broker of this id, or it is not cut off.
        """
        self._cluster.broker(broker_id)
        if broker_id not in self._cut:
            raise ClusterError(f"broker {broker_id} is not cut off")
        self._thread.run(self._change(broker_id, is_cut=False))

    def heal_all(self) -> None:
        """Connect all brokers again."""
        for broker_id in list(self._cut):
            self.heal(broker_id)

    def close(self) -> None:
        """Close all connections."""
        self._thread.run(self._stop())
        self._thread.stop()

    async def _change(self, broker_id: BrokerId, *, is_cut: bool) -> None:
        (self._cut.add if is_cut else self._cut.discard)(broker_id)
        me = str(broker_id)
        for other in self._cluster.brokers.keys() - {broker_id}:
            self._set(me, str(other), _CUT if is_cut or other in self._cut else HEALTHY)
        self._set(me, ZOOKEEPER, _CUT if is_cut else HEALTHY)

    def _set(self, a: str, b: str, condition: Condition) -> None:
        self._links.change(a, b, condition)
        self._links.change(b, a, condition)

    async def _stop(self) -> None:
        await self._links.stop()
