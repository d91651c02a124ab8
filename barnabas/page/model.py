"""The cluster as the page shows it, and the changes between two of its states. Pure.

A change is data: the page's script applies the same changes to the same snapshot, so it can show the cluster
at any time of the history.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.cluster.model.ids import NO_LEADER, TopicPartition

Json = dict[str, object]


class BrokerView(NamedTuple):
    """A registration below ``/brokers/ids``.

    Attributes:
        address: ``host:port`` of the first listener.
        epoch: The broker epoch, which every registration raises.
        rack: ``broker.rack``, or None.
    """

    address: str
    epoch: int
    rack: str | None = None


class PartitionView(NamedTuple):
    """A partition's assignment and state znode.

    Attributes:
        replicas: The broker ids of all replicas, the preferred leader first.
        leader: The leader's id, -1 if there is none.
        isr: The in-sync replicas.
        leader_epoch: The leader epoch; -1 while there is no state.
        controller_epoch: The epoch of the controller that wrote the state last; -1 while there is no state.
        adding: The replicas that a reassignment adds.
        removing: The replicas that a reassignment removes.
    """

    replicas: tuple[int, ...]
    leader: int = NO_LEADER
    isr: tuple[int, ...] = ()
    leader_epoch: int = -1
    controller_epoch: int = -1
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterState:
    """A cluster as ZooKeeper holds it.

    Attributes:
        brokers: The registered brokers by id.
        controller: The id in ``/controller``, or None.
        controller_epoch: The content of ``/controller_epoch``; 0 before the first controller.
        partitions: All partitions.
    """

    brokers: Mapping[int, BrokerView] = field(default_factory=dict)
    controller: int | None = None
    controller_epoch: int = 0
    partitions: Mapping[TopicPartition, PartitionView] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Change:
    """A change, in words and as data.

    Attributes:
        kind: ``broker``, ``controller``, ``partition``, ``process``, ``action`` or ``zookeeper``.
        text: A sentence about it.
        data: The fields that changed, as JSON; ``kind`` says how the page applies them.
        is_bad: Whether something is worse after it: a broker lost, no leader, a smaller ISR.
    """

    kind: str
    text: str
    data: Json
    is_bad: bool = False


def differences(before: ClusterState, after: ClusterState) -> Iterator[Change]:
    """Yield the changes between two states: brokers first, then the controller, then partitions in order."""
    yield from _broker_changes(before, after)
    if (before.controller, before.controller_epoch) != (after.controller, after.controller_epoch):
        yield _controller_change(before, after)
    for partition in sorted({*before.partitions, *after.partitions}):
        old, new = before.partitions.get(partition), after.partitions.get(partition)
        if old != new:
            yield _partition_change(partition, old, new)


def _broker_changes(before: ClusterState, after: ClusterState) -> Iterator[Change]:
    for broker in sorted({*before.brokers, *after.brokers}):
        old, new = before.brokers.get(broker), after.brokers.get(broker)
        if old == new:
            continue
        if new is None:
            text = f"Broker {broker} is gone from ZooKeeper: its session ended"
            yield Change("broker", text, {"id": broker, "registered": None}, is_bad=True)
            continue
        if old is None:
            text = f"Broker {broker} registered at {new.address}, broker epoch {new.epoch}"
        else:
            text = f"Broker {broker} registered again: broker epoch {old.epoch} -> {new.epoch}"
        yield Change("broker", text, {"id": broker, "registered": broker_json(new)})


def _controller_change(before: ClusterState, after: ClusterState) -> Change:
    data: Json = {"controller": after.controller, "epoch": after.controller_epoch}
    if after.controller is None:
        former = "" if before.controller is None else f": broker {before.controller} was it"
        return Change("controller", f"There is no controller{former}", data, is_bad=True)
    if after.controller == before.controller:
        return Change("controller", f"The controller epoch is {after.controller_epoch}", data)
    return Change(
        "controller", f"Broker {after.controller} is controller, epoch {after.controller_epoch}", data
    )


def _partition_change(
    partition: TopicPartition, old: PartitionView | None, new: PartitionView | None
) -> Change:
    data: Json = {"topic": partition.topic, "partition": partition.partition}
    name = f"{partition.topic}-{partition.partition}"
    if new is None:
        return Change("partition", f"{name} was deleted", {**data, "state": None})
    data["state"] = partition_json(new)
    if old is None:
        return Change("partition", f"{name} was created on brokers {_ids(new.replicas)}", data)
    parts = list(_differences_of_partition(old, new))
    lost = set(old.isr) - set(new.isr)
    is_bad = (new.leader == NO_LEADER and old.leader != NO_LEADER) or bool(lost)
    return Change("partition", f"{name}: {'; '.join(parts)}", data, is_bad)


def _differences_of_partition(old: PartitionView, new: PartitionView) -> Iterator[str]:
    if new.leader != old.leader:
        yield f"leader {_leader(old.leader)} -> {_leader(new.leader)}"
    if sorted(new.isr) != sorted(old.isr):
        left, joined = set(old.isr) - set(new.isr), set(new.isr) - set(old.isr)
        moves = [f"without {_ids(sorted(left))}"] * bool(left) + [f"with {_ids(sorted(joined))}"] * bool(
            joined
        )
        yield f"ISR {_ids(old.isr)} -> {_ids(new.isr)} ({', '.join(moves)})"
    if new.leader_epoch != old.leader_epoch:
        yield f"leader epoch {old.leader_epoch} -> {new.leader_epoch}"
    if new.replicas != old.replicas or (new.adding, new.removing) != (old.adding, old.removing):
        yield f"replicas {_ids(old.replicas)} -> {_ids(new.replicas)}"
    if new.controller_epoch != old.controller_epoch:
        yield f"written by controller epoch {new.controller_epoch}"


def _leader(leader: int) -> str:
    return "none" if leader == NO_LEADER else str(leader)


def _ids(ids: Iterator[int] | tuple[int, ...] | list[int]) -> str:
    return ",".join(map(str, ids)) or "empty"


def broker_json(broker: BrokerView) -> Json:
    """Return a registration as the page gets it."""
    return {"address": broker.address, "epoch": broker.epoch, "rack": broker.rack}


def partition_json(partition: PartitionView) -> list[object]:
    """Return a partition as the page gets it: a short list, because there may be thousands.

    The fields are the leader, the leader epoch, the ISR, the replicas, the controller epoch, and the replicas
    that are being added and removed.
    """
    return [
        partition.leader,
        partition.leader_epoch,
        partition.isr,
        partition.replicas,
        partition.controller_epoch,
        partition.adding,
        partition.removing,
    ]
