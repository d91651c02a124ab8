"""A group's offsets: pending and committed ones, their removal and their expiration."""

from __future__ import annotations

import gc

import pytest

from barnabas.broker.core.group.offsets import Expiration, GroupOffsets, expiration
from barnabas.broker.core.group.records import OffsetAndMetadata
from barnabas.cluster.model.ids import TopicPartition

A, B, C = (TopicPartition(topic, 0) for topic in "abc")


def commit(offset, commit_ms=0, expire_ms=None):
    return OffsetAndMetadata(offset, -1, "", commit_ms, expire_ms)


def committed(**offsets):
    return GroupOffsets({TopicPartition(t, 0): (*value, 0) for t, value in offsets.items()})


def test_a_commit_is_seen_when_its_append_is_acknowledged():
    offsets, value = GroupOffsets(), commit(5)
    offsets.prepare({A: value})
    assert (offsets.get(A), offsets.is_pending(A), offsets.has_any, len(offsets)) == (None, True, True, 0)
    offsets.complete({A: value}, 10)
    assert (offsets.get(A), offsets.is_pending(A), len(offsets)) == (value, False, 1)
    assert list(offsets.partitions) == [A]


def test_a_commit_whose_append_failed_leaves_the_one_before():
    offsets = committed(a=commit(1))
    offsets.prepare({A: commit(2), B: (new := commit(3))})
    offsets.abandon({A: commit(2)})
    assert offsets.is_pending(A), "equal, but another commit"
    offsets.abandon({B: new})
    assert (offsets.get(A), offsets.get(B), offsets.is_pending(B)) == (commit(1), None, False)


def test_a_commit_stays_pending_if_a_later_one_is_refused():
    offsets, first, refused = committed(a=commit(1)), commit(5), commit(6)
    offsets.prepare({A: first})
    offsets.prepare({A: refused})
    offsets.abandon({A: refused})
    assert offsets.is_pending(A)
    offsets.complete({A: first}, 10)
    assert (offsets.get(A), offsets.is_pending(A)) == (first, False)


def test_of_two_commits_the_later_record_wins_whichever_is_acknowledged_first():
    offsets, first, second = GroupOffsets(), commit(5), commit(3)
    offsets.prepare({A: first})
    offsets.prepare({A: second})
    offsets.complete({A: second}, 11)
    offsets.prepare({A: (third := commit(4))})
    offsets.complete({A: first}, 10)
    assert (offsets.get(A), offsets.is_pending(A)) == (second, True)
    offsets.complete({A: third}, 12)
    assert (offsets.get(A), offsets.is_pending(A)) == (third, False)


def test_a_commit_of_a_deleted_topic_stays_away():
    offsets, value = GroupOffsets(), commit(5)
    offsets.prepare({A: value})
    assert offsets.known == (A,)
    assert offsets.remove([A]) == [A], "its record is in the log already"
    offsets.complete({A: value}, 10)
    assert (offsets.get(A), offsets.has_any) == (None, False)


def test_removal_tells_what_had_a_committed_offset():
    offsets = committed(a=commit(1), b=commit(2))
    assert offsets.remove([A, C]) == [A]
    assert (offsets.get(A), offsets.get(B)) == (None, commit(2))


def test_an_open_transaction_is_pending_until_its_topics_are_gone():
    open_ones = {B: (*commit(7), 1), C: (*commit(8), 1)}
    offsets = GroupOffsets({A: (*commit(1), 0)}, {9: open_ones})
    assert [offsets.is_pending(each) for each in (A, B, C)] == [False, True, True]
    assert offsets.get(B) is None
    assert offsets.remove([A, B]) == [A]
    assert offsets.has_any
    offsets.remove([C])
    assert not offsets.has_any


EMPTY = {"is_empty": True, "is_stable": False}
STABLE = {"is_empty": False, "is_stable": True}
REBALANCING = {"is_empty": False, "is_stable": False}
TOPICS = frozenset({"a"})


@pytest.mark.parametrize(
    ("protocol_type", "state", "topics", "rule"),
    [
        (None, EMPTY, None, Expiration()),
        ("consumer", EMPTY, TOPICS, Expiration(since_ms=77)),
        ("connect", EMPTY, None, Expiration(since_ms=77)),
        ("consumer", STABLE, TOPICS, Expiration(kept_topics=TOPICS)),
        ("consumer", STABLE, None, None),
        ("connect", STABLE, None, None),
        ("consumer", REBALANCING, TOPICS, None),
    ],
)
def test_which_offsets_of_a_group_expire(protocol_type, state, topics, rule):
    """KAFKA-13636: none while the group rebalances, as its subscriptions are not known then."""
    found = expiration(protocol_type, **state, state_timestamp_ms=77, subscribed_topics=topics)
    assert found == rule


@pytest.mark.parametrize(
    ("rule", "now_ms", "gone"),
    [
        (Expiration(), 109, []),
        (Expiration(), 110, [A]),
        (Expiration(), 120, [A, B]),
        (Expiration(since_ms=100), 199, []),
        (Expiration(since_ms=100), 200, [A, B]),
        (Expiration(kept_topics=TOPICS), 1000, [B, C]),
        (Expiration(), 499, [A, B]),
        (Expiration(), 500, [A, B, C]),
    ],
)
def test_what_has_expired(rule, now_ms, gone):
    """A was committed at 10 and B at 20, with a retention of 100; C expires at 500 whatever the retention."""
    offsets = committed(a=commit(1, 10), b=commit(1, 20), c=commit(1, 0, 500))
    assert offsets.expired(rule, now_ms, 100, offsets.partitions) == gone


def test_an_offset_with_a_pending_commit_does_not_expire():
    offsets = committed(a=commit(1, 10), b=commit(1, 10))
    offsets.prepare({A: commit(2, 500)})
    assert offsets.expired(Expiration(), 500, 100, offsets.partitions) == [B]


def test_garbage_collections_need_not_visit_what_is_committed_again():
    """200,000 offsets that consumers commit again and again took 0.2 s of each full collection."""
    partitions = [TopicPartition("t", number) for number in range(1000)]
    offsets = GroupOffsets()
    gc.collect()
    before = len(gc.get_objects())
    for number in range(2):
        commits = {each: commit(number) for each in partitions}
        offsets.prepare(commits)
        offsets.complete(commits, number)
    del commits
    gc.collect()
    assert len(gc.get_objects()) - before < 100
