"""Where a follower cuts its log, shown on logs as lists of epochs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.broker.core.replication.divergence import Agreement, agreement
from barnabas.broker.core.replication.follower_fetch import (
    FetchOn,
    Reaction,
    StartOver,
    Truncate,
    cut_on_becoming_follower,
    cut_on_divergence,
    on_offset_out_of_range,
    reaction,
)
from barnabas.broker.core.replication.leader_epochs import (
    UNDEFINED_EPOCH_END,
    EpochEndOffset,
    LeaderEpochCache,
)
from barnabas.cluster.model.errors import ErrorCode


def cache_of(log: list[int]) -> LeaderEpochCache:
    cache = LeaderEpochCache()
    for offset, epoch in enumerate(log):
        cache.assign(epoch, offset)
    return cache


def common_prefix(one: list[int], other: list[int]) -> int:
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return length


logs = st.lists(st.integers(0, 9), max_size=8).map(sorted)


@given(
    logs,
    st.lists(st.sampled_from([1, 3, 5, 7]), max_size=5),
    st.lists(st.sampled_from([2, 4, 6, 8]), max_size=5),
)
@settings(max_examples=150)
def test_rounds_of_cutting_leave_a_prefix_of_the_leaders_log(common, leader_tail, follower_tail):
    common = [epoch // 10 for epoch in common]
    leader = common + sorted(leader_tail) + [9]
    follower = common + sorted(follower_tail)
    kept = common_prefix(leader, follower)
    for _ in range(len(follower) + 1):
        if not follower:
            break
        last = follower[-1]
        leader_end = cache_of(leader).end_offset_for(last, len(leader))
        if agreement(leader_end, last, len(follower), 0, len(leader)) is Agreement.AGREES:
            break
        own_end = cache_of(follower).end_offset_for(leader_end.epoch, len(follower))
        cut = cut_on_divergence(leader_end, own_end, len(follower), 0)
        assert cut < len(follower)
        follower = follower[:cut]
    assert follower == leader[: len(follower)]
    assert len(follower) == kept


def test_a_leader_that_knows_nothing_leaves_the_high_watermark():
    assert cut_on_divergence(UNDEFINED_EPOCH_END, UNDEFINED_EPOCH_END, 9, 4) == 4


def test_an_offset_without_epoch_is_taken_as_it_is():
    assert cut_on_divergence(EpochEndOffset(-1, 7), UNDEFINED_EPOCH_END, 9, 4) == 7
    assert cut_on_divergence(EpochEndOffset(-1, 12), UNDEFINED_EPOCH_END, 9, 4) == 9


def test_an_epoch_we_do_not_have_cuts_where_the_leaders_ends():
    assert cut_on_divergence(EpochEndOffset(2, 7), UNDEFINED_EPOCH_END, 9, 4) == 7


@pytest.mark.parametrize(
    ("epoch", "end", "high_watermark", "cut"), [(None, 9, 4, 4), (None, 4, 4, None), (3, 9, 4, None)]
)
def test_becoming_follower_cuts_only_a_log_without_epochs(epoch, end, high_watermark, cut):
    assert cut_on_becoming_follower(epoch, end, high_watermark) == cut


@pytest.mark.parametrize(
    ("own_end", "leader_start", "leader_end", "expected"),
    [
        (9, 0, 5, Truncate(5)),
        (9, 0, 9, FetchOn()),
        (3, 5, 9, StartOver(5)),
        (5, 5, 9, FetchOn()),
        (7, 5, 9, FetchOn()),
    ],
)
def test_out_of_range(own_end, leader_start, leader_end, expected):
    assert on_offset_out_of_range(own_end, leader_start, leader_end) == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ErrorCode.OFFSET_OUT_OF_RANGE, Reaction.FIND_RANGE),
        (ErrorCode.FENCED_LEADER_EPOCH, Reaction.BACK_OFF),
        (ErrorCode.UNKNOWN_LEADER_EPOCH, Reaction.BACK_OFF),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, Reaction.BACK_OFF),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, Reaction.BACK_OFF),
        (ErrorCode.KAFKA_STORAGE_ERROR, Reaction.BACK_OFF),
    ],
)
def test_reactions(error, expected):
    assert reaction(error) is expected
