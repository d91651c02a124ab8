"""The placement of a topic's replicas, evenly over brokers, and over racks if all brokers have one.

Random numbers are passed in. Source: docs/kafka/topics.md, Placement (``AdminUtils``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from barnabas.cluster.model.ids import BrokerId


def assign(
    brokers: Sequence[BrokerId],
    partitions: int,
    replication_factor: int,
    *,
    start: int,
    shift: int,
    first_partition: int = 0,
) -> dict[int, tuple[BrokerId, ...]]:
    """Assign replicas without regard to racks.

    Leaders are assigned round-robin. The followers of a partition are on the brokers after its leader, at a
    distance that grows by one with each round, so that the followers of one broker's partitions spread over
    all others.

    Args:
        brokers: The brokers, at least ``replication_factor`` of them; Kafka's tools sort them by id.
        partitions: The number of partitions to place.
        replication_factor: The number of replicas of each, at least 1.
        start: The index in ``brokers`` of the leader of partition 0.
        shift: The first distance between leader and follower, minus one.
        first_partition: The number of the first partition to place (those before it exist already).

    Returns:
        The replicas by partition number, preferred leader first.
    """
    count = len(brokers)
    numbers = range(first_partition, first_partition + partitions)
    return {
        partition: (
            brokers[leader],
            *(brokers[_follower(leader, distance, j, count)] for j in range(replication_factor - 1)),
        )
        for partition, leader, distance in _leaders(numbers, count, start, shift)
    }


def assign_by_rack(
    racks: Mapping[BrokerId, str],
    partitions: int,
    replication_factor: int,
    *,
    start: int,
    shift: int,
    first_partition: int = 0,
) -> dict[int, tuple[BrokerId, ...]]:
    """Assign replicas so that a rack has two of a partition only if all racks have one.

    Args:
        racks: Every broker with its rack.
        partitions: As for `assign`.
        replication_factor: As for `assign`.
        start: The index of the leader of partition 0 in the brokers interleaved by rack.
        shift: As for `assign`, in steps of the number of racks.
        first_partition: As for `assign`.
    """
    brokers = interleave(racks)
    numbers = range(first_partition, first_partition + partitions)
    return {
        partition: _by_rack(brokers, racks, leader, distance, replication_factor)
        for partition, leader, distance in _leaders(numbers, len(brokers), start, shift)
    }


def interleave(racks: Mapping[BrokerId, str]) -> list[BrokerId]:
    """List the brokers in rounds of one from each rack: racks by name, brokers by id."""
    waiting: dict[str, list[BrokerId]] = {rack: [] for rack in sorted(set(racks.values()))}
    for broker in sorted(racks, reverse=True):
        waiting[racks[broker]].append(broker)
    order: list[BrokerId] = []
    while len(order) < len(racks):
        order.extend(rack.pop() for rack in waiting.values() if rack)
    return order


def _leaders(numbers: range, count: int, start: int, shift: int) -> Iterator[tuple[int, int, int]]:
    """Generate each partition with its leader's index and the distance to its followers."""
    for partition in numbers:
        if partition > 0 and partition % count == 0:
            shift += 1
        yield partition, (partition + start) % count, shift


def _by_rack(
    brokers: Sequence[BrokerId], racks: Mapping[BrokerId, str], leader: int, shift: int, factor: int
) -> tuple[BrokerId, ...]:
    replicas = [brokers[leader]]
    used_racks = {racks[brokers[leader]]}
    rack_count = len(set(racks.values()))
    probe = 0
    # As in Kafka, the probe is not reset between followers and shifts in whole rounds of racks, so equal
    # random numbers give equal placements.
    while len(replicas) < factor:
        broker = brokers[_follower(leader, shift * rack_count, probe, len(brokers))]
        probe += 1
        rack_is_free = racks[broker] not in used_racks or len(used_racks) == rack_count
        broker_is_free = broker not in replicas
        if rack_is_free and broker_is_free:
            replicas.append(broker)
            used_racks.add(racks[broker])
    return tuple(replicas)


def _follower(leader: int, shift: int, number: int, count: int) -> int:
    """Return the index of the follower ``number``, which is never the leader's own."""
    return (leader + 1 + (shift + number) % (count - 1)) % count
