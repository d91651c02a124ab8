"""Leader and followers over real streams: what is written arrives, counts and becomes visible."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from barnabas.broker.replicas.retention import LogRetention
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime.failpoints import FOLLOWER_FETCH, Action

TP = TopicPartition("t", 0)
DEADLINE_S = 60
SHORT_LAG = pytest.mark.parametrize("lag_time_max_ms", [2_000])
"""Long enough for a slow machine's followers to stay in sync; short enough to wait for one that is gone."""


async def test_nothing_above_the_high_watermark_is_visible(cluster):
    await cluster.elect(1, [1, 2, 3])
    leader = cluster.nodes[1]
    await leader.append(b"a")
    await cluster.until_equal(1, 2, 3)
    FOLLOWER_FETCH.arm(Action.PAUSE)
    try:
        appended = await leader.append(b"b", timeout_ms=300)
        assert appended.error is ErrorCode.REQUEST_TIMED_OUT
        fetched = await leader.fetch(1, max_wait_ms=50)
        assert (fetched.error, bytes(fetched.records), fetched.high_watermark) == (ErrorCode.NONE, b"", 1)
        # Not even the requests that were held when fetching stopped brought it to a follower.
        assert [cluster.nodes[id_].partition.log.log_end_offset for id_ in (2, 3)] == [1, 1]
    finally:
        FOLLOWER_FETCH.arm(Action.OFF)


@SHORT_LAG
async def test_a_follower_that_stops_fetching_leaves_the_isr_and_returns(cluster):
    await cluster.elect(1, [1, 2, 3])
    leader = cluster.nodes[1]
    await leader.append(b"a")
    FOLLOWER_FETCH.arm(Action.PAUSE)
    try:
        waiting = asyncio.ensure_future(leader.append(b"b"))
        result = await asyncio.wait_for(waiting, DEADLINE_S)
        # Alone in the ISR the leader commits, but below min.insync.replicas it may not call that a success.
        assert result.error is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        assert cluster.isr == {1}
        assert leader.partition.replica.high_watermark == 2
        refused = await leader.append(b"c")
        assert refused.error is ErrorCode.NOT_ENOUGH_REPLICAS
        assert leader.partition.log.log_end_offset == 2
    finally:
        FOLLOWER_FETCH.arm(Action.OFF)
    await cluster.until(lambda: cluster.isr == {1, 2, 3}, "a full ISR")
    assert (await leader.append(b"d")).error is ErrorCode.NONE


@SHORT_LAG
async def test_a_lost_answer_of_the_isr_write_does_not_stick_the_leader(cluster):
    """KAFKA-14144: a lost answer fenced the leader's ISR changes for ever; ours are its own writes."""
    await cluster.elect(1, [1, 2, 3])
    leader = cluster.nodes[1]
    await cluster.stop(3)
    cluster.states.loses_answers = 1
    await leader.append(b"a")
    assert cluster.isr == {1, 2}
    await cluster.until(lambda: leader.partition.replica.pending is None, "the write's end")
    assert leader.partition.replica.version == cluster.states.states[TP].leader_and_isr.version


async def test_followers_follow_the_leaders_log_start(cluster):
    await cluster.elect(1, [1, 2, 3])
    leader, *followers = (cluster.nodes[i] for i in (1, 2, 3))
    for node in (leader, *followers):
        log = node.partition.log
        log.config = replace(log.config, segment_bytes=200, retention_bytes=-1, retention_ms=-1)
    for _ in range(10):
        assert (await leader.append(b"a" * 100)).error is ErrorCode.NONE
    await cluster.until_equal(1, 2, 3)

    leader.partition.log.config = replace(leader.partition.log.config, retention_bytes=0)
    await LogRetention(leader.service.hosted).delete_old_segments()
    assert leader.partition.log.log_start_offset == 10
    await cluster.until(
        lambda: {node.partition.log.log_start_offset for node in followers} == {10},
        "a follower's log starts elsewhere",
    )

    # What lies below the start goes at their own next look, whatever their own settings would keep; the
    # segment that takes the appends stays.
    for node in followers:
        assert node.partition.log.first_segment_offset == 0
        await LogRetention(node.service.hosted).delete_old_segments()
        assert node.partition.log.first_segment_offset == 9
    assert (await leader.append(b"b")).base_offset == 10
    await cluster.until_equal(1, 2, 3)
