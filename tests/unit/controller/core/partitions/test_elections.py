"""Each strategy against a slow twin: docs/kafka/state-machines.md, Elections, rule by rule."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.epochs import LeaderEpoch, PartitionVersion
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr
from barnabas.controller.core.partitions import elections
from barnabas.controller.core.partitions.elections import Elected, NoLeader, OfflineElection, OtherElection

BROKERS = [BrokerId(number) for number in range(1, 7)]
subsets = st.sets(st.sampled_from(BROKERS))


@st.composite
def partitions(draw: st.DrawFn) -> tuple[LeaderAndIsr, Assignment]:
    replicas = tuple(draw(st.permutations(sorted(draw(st.sets(st.sampled_from(BROKERS), min_size=1))))))
    isr = tuple(draw(st.permutations(sorted(draw(st.sets(st.sampled_from(replicas), min_size=1))))))
    removing = tuple(sorted(draw(st.sets(st.sampled_from(replicas)))))
    leader = draw(st.sampled_from([*isr, BrokerId(-1)]))
    known = LeaderAndIsr(
        leader, LeaderEpoch(draw(st.integers(0, 9))), isr, PartitionVersion(draw(st.integers(0, 9)))
    )
    return known, Assignment(replicas, removing=removing)


def judge(
    outcome: Elected | NoLeader,
    known: LeaderAndIsr,
    leader: BrokerId | None,
    isr: Sequence[BrokerId],
    recipients: Sequence[BrokerId],
) -> None:
    if leader is None:
        assert isinstance(outcome, NoLeader)
        return
    assert isinstance(outcome, Elected)
    written = outcome.leader_and_isr
    assert written.leader == leader
    assert written.leader_epoch == known.leader_epoch + 1
    assert written.version == known.version
    assert list(written.isr) == list(isr)
    assert list(outcome.recipients) == list(recipients)
    assert written.leader in written.isr


@given(partitions(), subsets, subsets, st.booleans())
def test_offline(
    partition: tuple[LeaderAndIsr, Assignment], live: set[BrokerId], kept: set[BrokerId], unclean: bool
) -> None:
    known, assignment = partition
    candidates = []
    for place, broker in enumerate(assignment.replicas):
        if broker in live:
            candidates.append((broker not in known.isr, place, broker))
    candidates.sort()
    leader = candidates[0][2] if candidates else None
    is_unclean = bool(candidates) and candidates[0][0]
    if is_unclean and not unclean:
        leader = None
    isr = [leader] if is_unclean else [broker for broker in known.isr if broker in live | kept]
    recipients = [broker for broker in assignment.replicas if broker in live]
    outcome = elections.offline(known, assignment, live, unclean_allowed=unclean, kept=kept)
    judge(outcome, known, leader, [b for b in isr if b is not None], recipients)
    if isinstance(outcome, Elected):
        assert outcome.unclean == is_unclean


@given(partitions(), subsets)
def test_reassign(partition: tuple[LeaderAndIsr, Assignment], live: set[BrokerId]) -> None:
    known, assignment = partition
    target = [b for b in assignment.replicas if b not in assignment.removing]
    able = [b for b in target if b in live and b in known.isr]
    outcome = elections.reassign(known, assignment, live)
    judge(outcome, known, able[0] if able else None, known.isr, target)


@given(partitions(), subsets)
def test_preferred(partition: tuple[LeaderAndIsr, Assignment], live: set[BrokerId]) -> None:
    known, assignment = partition
    first = assignment.replicas[0]
    leader = first if {first} <= live & set(known.isr) else None
    judge(elections.preferred(known, assignment, live), known, leader, known.isr, assignment.replicas)


@given(partitions(), subsets, subsets)
def test_controlled_shutdown(
    partition: tuple[LeaderAndIsr, Assignment], live: set[BrokerId], leaving: set[BrokerId]
) -> None:
    known, assignment = partition
    reachable = [b for b in assignment.replicas if b in live or b in leaving]
    able = [b for b in reachable if b in known.isr and b not in leaving]
    isr = [b for b in known.isr if b not in leaving]
    outcome = elections.controlled_shutdown(known, assignment, live | leaving, leaving)
    judge(outcome, known, able[0] if able else None, isr, reachable)


@given(partitions(), subsets)
def test_damaged_leader(partition: tuple[LeaderAndIsr, Assignment], live: set[BrokerId]) -> None:
    known, assignment = partition
    able = [b for b in assignment.replicas if b in live and b in known.isr and b != known.leader]
    outcome = elections.damaged_leader(known, assignment, live)
    judge(outcome, known, able[0] if able else None, known.isr, assignment.replicas)


def test_a_partition_without_replicas_has_no_preferred_leader() -> None:
    known = LeaderAndIsr.initial(BrokerId(1), (BrokerId(1),))
    assert elections.preferred(known, Assignment(()), {BrokerId(1)}) is NoLeader.PREFERRED_NOT_IN_ISR


def test_strategies_print_as_kafka_names_them() -> None:
    assert str(OfflineElection()) == "OfflinePartitionLeaderElectionStrategy(false)"
    assert str(OfflineElection(allow_unclean=True)) == "OfflinePartitionLeaderElectionStrategy(true)"
    assert [str(strategy) for strategy in OtherElection] == [
        "ReassignPartitionLeaderElectionStrategy",
        "PreferredReplicaPartitionLeaderElectionStrategy",
        "ControlledShutdownPartitionLeaderElectionStrategy",
        "DamagedLeaderPartitionLeaderElectionStrategy",
    ]
