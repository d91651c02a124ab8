"""One partition's state: roles, epochs, ISR changes and their outcomes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.replication.isr import SessionContact
from barnabas.broker.core.replication.replica import Conflict, Replica, Role
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import LeaderAndIsrPartition

TP = TopicPartition("t", 0)
LAG = 100


def order(leader=1, epoch=0, isr=(1, 2, 3), version=0, controller_epoch=1, *, replicas=(1, 2, 3)):
    state = PartitionState(LeaderAndIsr(leader, epoch, isr, version), controller_epoch)
    return LeaderAndIsrPartition(TP, state, Assignment(replicas))


def fetch(replica, broker_id, offset, end, *, now=0, session=None):
    return replica.follower_fetched(
        broker_id,
        offset,
        log_start_offset=0,
        log_end_offset=end,
        now_ms=now,
        session=session or SessionContact(now),
    )


@pytest.fixture
def leader():
    """Broker 1 leads in epoch 0, its log is empty, all three are in the ISR."""
    replica = Replica(1, TP, LAG, 0)
    replica.become_leader(order(), 0, 0)
    return replica


def test_a_replica_before_its_first_order():
    replica = Replica(1, TP, LAG, 7)
    assert (replica.role, replica.leader, replica.leader_epoch, replica.high_watermark) == (
        Role.NONE,
        -1,
        -1,
        7,
    )
    assert replica.judge_epoch(-1) is ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(
    ("asked_in", "at_leader", "at_follower"),
    [
        (-1, ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (5, ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (4, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_LEADER_EPOCH),
        (6, ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_epochs_are_judged_before_the_role(asked_in, at_leader, at_follower):
    leader, follower = Replica(1, TP, LAG, 0), Replica(2, TP, LAG, 0)
    leader.become_leader(order(epoch=5), 0, 0)
    follower.become_follower(order(epoch=5))
    assert leader.judge_epoch(asked_in) is at_leader
    assert follower.judge_epoch(asked_in) is at_follower


def test_the_high_watermark_moves_when_the_last_member_has_fetched(leader):
    assert not leader.appended(10, 1)
    assert not fetch(leader, 2, 10, 10).high_watermark_rose
    assert fetch(leader, 3, 4, 10).high_watermark_rose
    assert leader.high_watermark == 4
    assert fetch(leader, 3, 10, 10).high_watermark_rose
    assert leader.high_watermark == 10


def test_followers_are_viewed_with_their_racks_and_how_long_they_have_lagged(leader):
    leader.appended(10, 1)
    fetch(leader, 2, 10, 10, now=40)
    views = {view.broker_id: view for view in leader.views({2: "near", 3: None}.get, 100)}
    assert views.keys() == {2, 3}
    assert (views[2].rack, views[2].log_end_offset, views[2].lag_ms) == ("near", 10, 60)
    assert (views[3].rack, views[3].log_end_offset) == (None, -1)


def test_a_new_leader_keeps_it_until_all_members_have_fetched():
    replica = Replica(1, TP, LAG, 5)
    assert replica.become_leader(order(epoch=3), 9, 0)
    assert replica.epoch_start_offset == 9
    fetch(replica, 2, 9, 9)
    assert replica.high_watermark == 5
    fetch(replica, 3, 7, 9)
    assert replica.high_watermark == 7


def test_a_leader_alone_commits_at_once():
    replica = Replica(1, TP, LAG, 0)
    replica.become_leader(order(isr=(1,)), 4, LAG + 1)
    assert replica.high_watermark == 4
    assert replica.appended(6, LAG + 1)
    assert replica.high_watermark == 6


def test_leading_on_in_a_new_epoch_keeps_what_followers_have(leader):
    leader.appended(10, 0)
    fetch(leader, 2, 10, 10)
    fetch(leader, 3, 8, 10)
    assert not leader.become_leader(order(epoch=1, version=1), 10, 5)
    assert leader.high_watermark == 8
    assert leader.remote(3).log_end_offset == 8
    # It must be heard in the new epoch before it may be let in.
    assert leader.remote(3).session is None


def test_a_leader_that_missed_an_epoch_knows_nothing_of_its_followers(leader):
    """Broker 2 led in epoch 1, unheard here, and had broker 3 truncate what it had of this leader."""
    leader.appended(10, 0)
    fetch(leader, 2, 8, 10)
    fetch(leader, 3, 10, 10)
    assert not leader.become_leader(order(epoch=2, isr=(1, 3), version=2), 10, 5)
    assert leader.remote(3).log_end_offset == -1
    assert leader.high_watermark == 8


def test_a_returning_leader_knows_nothing_of_its_followers(leader):
    leader.appended(10, 0)
    fetch(leader, 2, 10, 10)
    assert leader.become_follower(order(leader=2, epoch=1))
    assert (leader.role, leader.isr, leader.remote(2)) == (Role.FOLLOWER, (), None)
    leader.become_leader(order(epoch=2), 10, 5)
    assert leader.remote(2).log_end_offset == -1


def test_following_the_same_leader_on_is_no_new_leader():
    replica = Replica(2, TP, LAG, 0)
    assert replica.become_follower(order(epoch=0))
    assert not replica.become_follower(order(epoch=1))
    assert replica.leader_epoch == 1


def test_a_follower_takes_the_high_watermark_as_far_as_its_log_reaches():
    replica = Replica(2, TP, LAG, 0)
    replica.follow_high_watermark(9, 0, 6)
    assert replica.high_watermark == 6
    replica.follow_high_watermark(3, 4, 6)
    assert replica.high_watermark == 4
    replica.truncated(0, 2)
    assert replica.high_watermark == 2


def test_replicas_being_added_do_not_make_a_partition_under_replicated():
    leader = Replica(1, TP, LAG, 0)
    moving = LeaderAndIsrPartition(TP, order().state, Assignment((1, 2, 3)).reassign_to((4, 5, 6)))
    leader.become_leader(moving, 0, 0)
    assert not leader.is_under_replicated
    leader.isr_written(shrink(leader), 1, 10, LAG + 1)
    assert leader.is_under_replicated


def shrink(leader):
    leader.appended(10, 0)
    fetch(leader, 2, 10, 10, now=LAG)
    return leader.propose_shrink(10, LAG + 1)


def test_a_shrink_names_who_stays_and_commits_when_written(leader):
    proposal = shrink(leader)
    assert proposal.state.leader_and_isr == LeaderAndIsr(1, 0, (1, 2), 0)
    assert proposal.newcomer is None
    assert leader.maximal_isr == {1, 2, 3}
    assert leader.high_watermark == 0
    assert leader.isr_written(proposal, 1, 10, LAG + 1)
    assert (leader.isr, leader.version, leader.high_watermark) == ((1, 2), 1, 10)
    assert leader.is_under_replicated


def test_one_change_at_a_time(leader):
    assert shrink(leader) is leader.pending
    assert leader.propose_shrink(10, 10 * LAG) is None
    assert not fetch(leader, 3, 10, 10, now=LAG + 2).may_join


def test_nobody_leaves_without_need(leader):
    leader.appended(10, 0)
    assert leader.propose_shrink(10, LAG) is None
    fetch(leader, 2, 10, 10)
    fetch(leader, 3, 10, 10)
    assert leader.propose_shrink(10, 10**9) is None


def test_a_follower_proposes_nothing():
    replica = Replica(2, TP, LAG, 0)
    replica.become_follower(order())
    assert replica.propose_shrink(0, 10**9) is None


def test_a_newcomer_counts_before_the_write_is_known():
    replica = Replica(1, TP, LAG, 0)
    replica.become_leader(order(isr=(1, 2)), 0, 0)
    replica.appended(10, 10 * LAG)
    fetch(replica, 2, 10, 10, now=10 * LAG)
    assert replica.high_watermark == 10
    assert fetch(replica, 3, 10, 10, now=10 * LAG).may_join
    proposal = replica.propose_expansion(3)
    assert proposal.state.leader_and_isr.isr == (1, 2, 3)
    assert replica.maximal_isr == {1, 2, 3}
    assert replica.isr == (1, 2)
    replica.appended(12, 30 * LAG)
    assert not fetch(replica, 2, 12, 12, now=30 * LAG).high_watermark_rose


def test_a_follower_below_the_epochs_start_stays_out():
    """KAFKA-7128: let in at a high watermark that lags after an election, it costs what was committed."""
    replica = Replica(1, TP, LAG, 3)
    replica.become_leader(order(epoch=4, isr=(1, 2)), 9, 0)
    assert not fetch(replica, 3, 8, 9).may_join
    assert fetch(replica, 3, 9, 9).may_join


def test_one_that_caught_up_meanwhile_is_found_after_the_change():
    replica = Replica(1, TP, LAG, 0)
    replica.become_leader(order(isr=(1,)), 0, 0)
    first, session = fetch(replica, 2, 0, 0), SessionContact(0)
    assert first.may_join
    proposal = replica.propose_expansion(2)
    assert not fetch(replica, 3, 0, 0, session=session).may_join
    assert replica.next_to_join() is None
    replica.isr_written(proposal, 1, 0, 0)
    assert replica.next_to_join() == 3
    replica.session_ended(3, SessionContact(0))
    assert replica.next_to_join() == 3
    replica.session_ended(3, session)
    assert replica.next_to_join() is None
    replica.session_ended(9, session)


@pytest.mark.parametrize(
    ("found", "conflict", "isr"),
    [
        (LeaderAndIsr(1, 0, (1, 2), 4), Conflict.WRITTEN_BEFORE, (1, 2)),
        (LeaderAndIsr(1, 0, (1, 3), 4), Conflict.ADOPTED, (1, 3)),
        (LeaderAndIsr(2, 1, (2, 3), 4), Conflict.SUPERSEDED, (1, 2, 3)),
        (LeaderAndIsr(1, 1, (1, 2), 4), Conflict.SUPERSEDED, (1, 2, 3)),
    ],
)
def test_conflicts(leader, found, conflict, isr):
    proposal = shrink(leader)
    outcome, _ = leader.isr_conflicts(proposal, PartitionState(found, 1), 10, LAG + 1)
    assert (outcome, leader.isr) == (conflict, isr)
    assert (leader.pending is proposal) == (conflict is Conflict.SUPERSEDED)
    assert leader.version == (0 if conflict is Conflict.SUPERSEDED else 4)


def test_an_answer_that_comes_after_the_next_order_changes_nothing(leader):
    proposal = shrink(leader)
    leader.become_leader(order(epoch=1, isr=(1, 2, 3), version=7), 10, LAG + 1)
    assert leader.pending is None
    assert not leader.isr_written(proposal, 1, 10, LAG + 1)
    found = PartitionState(LeaderAndIsr(1, 0, (1, 2), 1), 1)
    assert leader.isr_conflicts(proposal, found, 10, LAG + 1) == (Conflict.OUTDATED, False)
    assert (leader.isr, leader.version) == ((1, 2, 3), 7)


def test_a_session_speaks_for_a_quiet_partition(leader):
    session = SessionContact(0)
    fetch(leader, 2, 0, 0, session=session)
    fetch(leader, 3, 0, 0, session=SessionContact(0))
    session.at_ms = 10_000
    leader.before_append(0)
    leader.appended(1, 10_000)
    proposal = leader.propose_shrink(1, 10_000 + LAG)
    assert proposal.state.leader_and_isr.isr == (1, 2)


def test_the_low_watermark_is_the_lowest_start_of_the_live(leader):
    everyone = lambda _: True  # noqa: E731
    assert leader.low_watermark(4, everyone) == -1
    fetch(leader, 2, 0, 0)
    fetch(leader, 3, 0, 0)
    leader.follower_log_starts(2, 5)
    leader.follower_log_starts(3, 2)
    leader.follower_log_starts(9, 0)
    assert leader.low_watermark(4, everyone) == 2
    assert leader.low_watermark(4, lambda broker_id: broker_id != 3) == 4
    assert leader.low_watermark(7, lambda broker_id: broker_id != 3) == 5


def test_a_follower_may_have_what_former_leaders_had_and_what_this_one_sent(leader):
    assert [leader.may_have(2, offset) for offset in (0, 1)] == [True, False]
    leader.sent(2, 5)
    leader.sent(2, 3)
    leader.sent(9, 100)
    assert [leader.may_have(2, offset) for offset in (5, 6)] == [True, False]
    assert not leader.may_have(3, 1)
    leader.become_leader(order(epoch=7), 20, 0)
    assert [leader.may_have(3, offset) for offset in (20, 21)] == [True, False]


def test_leading_on_in_a_new_epoch_believes_no_more_than_before(leader):
    """A new epoch of the same leader brings followers no records that it has not sent."""
    leader.sent(2, 5)
    leader.become_leader(order(epoch=1), 10, 0)
    assert leader.epoch_start_offset == 10
    assert [leader.may_have(2, offset) for offset in (5, 6)] == [True, False]
    assert [leader.may_have(3, offset) for offset in (0, 1)] == [True, False]
    leader.sent(3, 10)
    leader.become_leader(order(epoch=1, version=1), 12, 0)
    assert [leader.may_have(3, offset) for offset in (10, 11)] == [True, False]


def test_a_replica_that_returns_may_have_what_it_was_sent(leader):
    """Its log may still lie where it was: a broker that was away deletes nothing."""
    leader.sent(3, 5)
    leader.become_leader(order(epoch=1, isr=(1, 2), replicas=(1, 2)), 10, 0)
    leader.sent(3, 9)
    leader.become_leader(order(epoch=2, isr=(1, 2), replicas=(1, 2)), 10, 0)
    leader.become_leader(order(epoch=3, isr=(1, 2)), 10, 0)
    assert [leader.may_have(3, offset) for offset in (5, 6)] == [True, False]
    assert leader.remote(3).log_end_offset == -1, "it may as well have lost all of it"
    leader.become_leader(order(epoch=4, isr=(1, 2), replicas=(1, 2)), 10, 0)
    leader.become_follower(order(leader=2, epoch=5, isr=(1, 2), replicas=(1, 2)))
    leader.become_leader(order(epoch=6, isr=(1, 2)), 3, 0)
    assert [leader.may_have(3, offset) for offset in (3, 4)] == [True, False], "what lay above may be cut"


HISTORIES = st.lists(
    st.tuples(
        st.sampled_from(["lead on", "lead again", "lose the log's end", "append", "send", "claim", "claim"]),
        st.sampled_from([2, 3]),
        st.integers(0, 9),
    ),
    max_size=20,
)
"""What happens to a leader, step by step: the kind, the follower that it is about, and how many records."""


class Told:
    """What a follower can have, from the whole history: the slow twin of ``Replica.may_have``."""

    def __init__(self):
        self.sent = []
        self.start = None
        self.high_watermark = 0

    def leads(self, end, *, goes_on):
        if not goes_on:
            self.sent, self.start = [], end

    def may_have(self, broker_id, offset):
        below = [self.start, *(upto for to, upto in self.sent if to == broker_id)]
        return all(any(each < known for known in below) for each in range(offset))


@given(HISTORIES)
def test_no_claim_beyond_what_was_sent_moves_the_high_watermark(history):
    leader, notified, end, epoch = Replica(1, TP, LAG, 0), Told(), 0, 0
    leader.become_leader(order(), 0, 0)
    notified.leads(0, goes_on=False)
    for kind, follower, count in history:
        remote, known = leader.remote(follower), min(count, end)
        match kind:
            case "lead on" | "lead again":
                epoch += 1 if kind == "lead on" else 2
                replicas = (1, 2, 3) if count % 2 else (1, follower)
                leader.become_leader(order(epoch=epoch, isr=replicas, replicas=replicas), end, 0)
                notified.leads(end, goes_on=kind == "lead on")
            case "lose the log's end":
                leader.become_follower(order(leader=2, epoch=epoch + 1))
                end = max(leader.high_watermark, end - count)
                epoch += 2
                leader.become_leader(order(epoch=epoch), end, 0)
                notified.leads(end, goes_on=False)
            case "append":
                leader.before_append(end)
                end += count
                leader.appended(end, 0)
            case "send" if remote is not None:
                leader.sent(follower, known)
                notified.sent.append((follower, known))
            case "claim" if remote is not None:
                assert leader.may_have(follower, known) == notified.may_have(follower, known)
                if leader.may_have(follower, known):
                    fetch(leader, follower, known, end)
                assert notified.may_have(follower, remote.log_end_offset)
        ends = [each.log_end_offset for broker_id in (2, 3) if (each := leader.remote(broker_id))]
        assert leader.high_watermark <= max(min(ends, default=end), notified.high_watermark)
        notified.high_watermark = leader.high_watermark


def test_a_member_that_lost_committed_records_leaves_at_once(leader):
    leader.appended(10, 0)
    for broker_id in (2, 3):
        fetch(leader, broker_id, 10, 10)
    assert leader.propose_shrink(10, 0) is None
    assert fetch(leader, 3, 9, 10).must_leave
    assert not fetch(leader, 2, 10, 10).must_leave
    assert leader.propose_shrink(10, 0).state.leader_and_isr.isr == (1, 2)
