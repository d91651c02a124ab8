"""Leaderships change only in the ways that Kafka's do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.epochs import LeaderEpoch, PartitionVersion
from barnabas.cluster.model.ids import NO_LEADER, BrokerId
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr

brokers = st.integers(1, 9).map(BrokerId)
isrs = st.lists(brokers, min_size=1, max_size=5, unique=True).map(tuple)
leaderships = st.builds(
    LeaderAndIsr,
    brokers,
    st.integers(0, 100).map(LeaderEpoch),
    isrs,
    st.integers(0, 100).map(PartitionVersion),
)


@given(leaderships, brokers, isrs)
def test_an_election_raises_the_epoch_and_keeps_the_version_it_was_read_under(
    before: LeaderAndIsr, leader: BrokerId, isr: tuple[BrokerId, ...]
) -> None:
    after = before.new_leader(leader, isr)
    assert (after.leader, after.isr) == (leader, isr)
    assert after.leader_epoch == before.leader_epoch + 1
    assert after.version == before.version


@given(leaderships)
def test_a_fencing_epoch_changes_nothing_else(before: LeaderAndIsr) -> None:
    after = before.new_epoch()
    assert (after.leader, after.isr, after.version) == (before.leader, before.isr, before.version)
    assert after.leader_epoch == before.leader_epoch + 1


@given(leaderships, st.integers(0, 1000).map(PartitionVersion))
def test_a_write_moves_the_version_alone(before: LeaderAndIsr, version: PartitionVersion) -> None:
    after = before.written_as(version)
    assert after.version == version
    assert after.written_as(before.version) == before


def test_the_first_leadership_is_epoch_0_version_0() -> None:
    first = LeaderAndIsr.initial(BrokerId(2), (BrokerId(2), BrokerId(1)))
    assert (first.leader_epoch, first.version, first.has_leader) == (0, 0, True)
    assert not first.new_leader(NO_LEADER, first.isr).has_leader


def test_a_reassignment_has_an_origin_and_a_target() -> None:
    one, two, three, four = map(BrokerId, (1, 2, 3, 4))
    running = Assignment((three, four, one, two), adding=(three, four), removing=(one, two))
    assert running.origin == (one, two)
    assert running.target == (three, four)
    assert running.is_being_reassigned
    settled = Assignment((one, two))
    assert settled.origin == settled.target == (one, two)
    assert not settled.is_being_reassigned


def _reassigned_slowly(before: Assignment, target: tuple[BrokerId, ...]) -> Assignment:
    """KIP-455 with sets: what was there before any reassignment, against what is wanted."""
    origin = set(before.replicas) - set(before.adding)
    whole = list(target)
    for replica in before.replicas:
        if replica in origin and replica not in whole:
            whole.append(replica)
    return Assignment(
        tuple(whole),
        tuple(r for r in whole if r not in origin),
        tuple(r for r in whole if r not in set(target)),
    )


@given(isrs, st.lists(isrs, min_size=1, max_size=4))
def test_a_reassignment_replaces_the_one_before_and_keeps_the_origin(
    start: tuple[BrokerId, ...], targets: list[tuple[BrokerId, ...]]
) -> None:
    assignment = Assignment(start)
    for target in targets:
        expected = _reassigned_slowly(assignment, target)
        assignment = assignment.reassign_to(target)
        assert assignment == expected
        assert assignment.target == target
        assert set(assignment.origin) == set(start)
    cancelled = assignment.reassign_to(assignment.origin)
    assert not cancelled.is_being_reassigned
    assert set(cancelled.replicas) == set(start)


def test_kafkas_own_example_of_a_reassignment() -> None:
    ids = [BrokerId(n) for n in range(7)]
    moved = Assignment((ids[1], ids[2], ids[3])).reassign_to((ids[4], ids[5], ids[6]))
    new, old = tuple(ids[4:]), tuple(ids[1:4])
    assert moved == Assignment(new + old, new, old)
