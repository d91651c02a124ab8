"""Caught-up times, shrink and expand, against a model that remembers every fetch."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.replication.isr import NEVER_MS, RemoteReplica, SessionContact, out_of_sync

LAG = 100


def slow_caught_up(fetches: list[tuple[int, int, int]]) -> int:
    """When a follower last had everything, from (offset, leader's end, time) of all its fetches.

    It had everything at the time of a fetch if some later fetch, or that one, shows that it has what the
    leader had then; of later ones only the next counts.
    """
    caught_up = NEVER_MS
    for index, (offset, end, at) in enumerate(fetches):
        if offset >= end:
            caught_up = max(caught_up, at)
        elif index and offset >= fetches[index - 1][1]:
            caught_up = max(caught_up, fetches[index - 1][2])
    return caught_up


@st.composite
def histories(draw):
    """Fetches of a follower whose leader's log only grows."""
    end, offset, at, fetches = 1, 0, 0, []
    for _ in range(draw(st.integers(1, 8))):
        end += draw(st.integers(0, 3))
        at += draw(st.integers(1, 50))
        offset = draw(st.integers(offset, end))
        fetches.append((offset, end, at))
    return fetches


@given(histories())
def test_caught_up_times_follow_the_fetches(fetches):
    remote = RemoteReplica()
    for offset, end, at in fetches:
        remote.fetched(offset, 0, end, at, None)
    assert remote.caught_up_ms == slow_caught_up(fetches)


def test_fetched_says_whether_the_end_moved():
    remote = RemoteReplica()
    assert remote.fetched(0, 0, 5, 1, None)
    assert not remote.fetched(0, 0, 5, 2, None)
    assert remote.fetched(5, 0, 5, 3, None)


def test_one_that_always_trails_by_less_than_a_round_counts_as_caught_up():
    remote = RemoteReplica(caught_up_ms=0)
    for round_number in range(1, 50):
        remote.fetched(10 * (round_number - 1), 0, 10 * round_number, 20 * round_number, None)
    assert remote.log_end_offset == 480
    assert not remote.is_out_of_sync(490, 20 * 49 + 50, LAG)


def test_a_silent_follower_with_everything_never_leaves():
    remote = RemoteReplica()
    remote.fetched(5, 0, 5, 1, None)
    assert not remote.is_out_of_sync(5, 10**9, LAG)
    assert remote.is_out_of_sync(6, 10**9, LAG)


def test_a_session_speaks_for_partitions_that_it_does_not_name():
    remote, session = RemoteReplica(), SessionContact(1)
    remote.fetched(5, 0, 5, 1, session)
    session.at_ms = 10_000
    remote.leader_appends(5)
    assert not remote.is_out_of_sync(6, 10_000 + LAG, LAG)
    assert remote.is_out_of_sync(6, 10_001 + LAG, LAG)


def test_it_does_not_speak_for_those_that_are_behind():
    remote, session = RemoteReplica(), SessionContact(1)
    remote.fetched(4, 0, 5, 1, session)
    session.at_ms = 10_000
    remote.leader_appends(5)
    assert remote.is_out_of_sync(6, 10_000, LAG)


@given(st.integers(-1, 6), st.integers(0, 6), st.integers(0, 6))
def test_may_join_wants_the_high_watermark_and_the_epochs_start(end, high_watermark, epoch_start):
    remote = RemoteReplica(log_end_offset=end)
    assert remote.may_join(high_watermark, epoch_start) == (end >= max(high_watermark, epoch_start))


@given(
    st.lists(st.integers(1, 5), unique=True),
    st.dictionaries(st.integers(2, 5), st.tuples(st.integers(0, 3), st.integers(0, 2 * LAG))),
)
def test_out_of_sync_picks_members_behind_for_too_long(isr, known):
    remotes = {i: RemoteReplica(caught_up_ms=at, log_end_offset=end) for i, (end, at) in known.items()}
    expected = []
    for member in isr:
        if member in known:
            end, at = known[member]
            if end != 3 and 2 * LAG - at > LAG:
                expected.append(member)
    assert out_of_sync(isr, remotes, 3, 2 * LAG, LAG) == tuple(expected)
