"""The leader's comparison, against two logs laid side by side."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from broker.core.divergence import Agreement, agreement
from broker.core.leader_epochs import UNDEFINED_EPOCH_END, EpochEndOffset, LeaderEpochCache


def end_offset_for(log: list[int], epoch: int) -> EpochEndOffset:
    cache = LeaderEpochCache()
    for offset, written_in in enumerate(log):
        cache.assign(written_in, offset)
    return cache.end_offset_for(epoch, len(log))


@st.composite
def two_logs(draw):
    """The epoch of each record of a leader's and a follower's log that were equal up to some record."""
    common = sorted(draw(st.lists(st.integers(0, 3), max_size=5)))
    floor = common[-1] if common else 0
    # No epoch had two leaders: after the common part the epochs of the two logs differ.
    leader = sorted(draw(st.lists(st.sampled_from([floor, 5, 7]), max_size=4)))
    follower = sorted(draw(st.lists(st.sampled_from([4, 6]), max_size=4)))
    return common + leader, common + follower, len(common) + (len(leader) if not follower else 0)


@given(two_logs())
@settings(max_examples=100)
def test_logs_agree_just_where_the_follower_is_a_prefix(logs):
    leader, follower, _ = logs
    if not follower or not leader:
        return
    last = follower[-1]
    found = agreement(end_offset_for(leader, last), last, len(follower))
    is_prefix = leader[: len(follower)] == follower
    if found is Agreement.UNKNOWN:
        assert last > leader[-1]
    else:
        assert (found is Agreement.AGREES) == is_prefix


def test_without_an_epoch_nothing_is_compared():
    assert agreement(UNDEFINED_EPOCH_END, -1, 5) is Agreement.AGREES


def test_an_epoch_that_the_leader_does_not_know():
    assert agreement(UNDEFINED_EPOCH_END, 3, 5) is Agreement.UNKNOWN


def test_an_epoch_that_ended_earlier_diverges():
    assert agreement(EpochEndOffset(3, 4), 3, 5) is Agreement.DIVERGES
    assert agreement(EpochEndOffset(2, 9), 3, 5) is Agreement.DIVERGES
    assert agreement(EpochEndOffset(3, 5), 3, 5) is Agreement.AGREES
