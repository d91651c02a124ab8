"""The leader's comparison, against two logs laid side by side."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.replication.divergence import Agreement, agreement
from barnabas.broker.core.replication.leader_epochs import (
    UNDEFINED_EPOCH_END,
    EpochEndOffset,
    LeaderEpochCache,
)


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
def test_logs_agree_just_where_the_follower_is_a_prefix(logs):
    leader, follower, _ = logs
    if not follower or not leader:
        return
    last = follower[-1]
    found = agreement(end_offset_for(leader, last), last, len(follower), 0, len(leader))
    is_prefix = leader[: len(follower)] == follower
    if found is Agreement.OUT_OF_RANGE:
        assert last > leader[-1]
    else:
        assert (found is Agreement.AGREES) == is_prefix


@pytest.mark.parametrize(
    ("offset", "found"),
    [
        (1, Agreement.OUT_OF_RANGE),
        (2, Agreement.AGREES),
        (9, Agreement.AGREES),
        (10, Agreement.OUT_OF_RANGE),
    ],
)
def test_without_an_epoch_only_the_range_counts(offset, found):
    assert agreement(UNDEFINED_EPOCH_END, -1, offset, 2, 9) is found


@pytest.mark.parametrize(
    ("leader_end", "offset", "found"),
    [
        (UNDEFINED_EPOCH_END, 5, Agreement.OUT_OF_RANGE),
        (EpochEndOffset(3, 4), 5, Agreement.DIVERGES),
        (EpochEndOffset(2, 9), 5, Agreement.DIVERGES),
        (EpochEndOffset(3, 5), 5, Agreement.AGREES),
        (EpochEndOffset(2, 9), 1, Agreement.OUT_OF_RANGE),
        (EpochEndOffset(3, 9), 10, Agreement.DIVERGES),
    ],
    ids=["unknown", "ended earlier", "never known", "known", "dropped by the leader", "beyond the end"],
)
def test_with_an_epoch_the_ends_are_compared_of_what_the_leader_still_has(leader_end, offset, found):
    assert agreement(leader_end, 3, offset, 2, 9) is found
