"""Logs that diverged agree again; the two stories of KIP-101 come to their good end.

Both are told a second time with the followers truncating by high watermark, as before leader epochs: there
the first loses an acknowledged record, and the second leaves logs that differ.
"""

from __future__ import annotations

import pytest

from barnabas.broker.core.replication import divergence
from barnabas.broker.core.replication.replica import Replica
from barnabas.broker.replicas import control_requests, fetch_session
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.runtime.failpoints import FOLLOWER_FETCH, Action


@pytest.fixture
def truncation_by_high_watermark(monkeypatch):
    """Followers cut their logs at the high watermark; leaders compare no epochs and believe any offset."""
    monkeypatch.setattr(
        control_requests,
        "cut_on_becoming_follower",
        lambda _epoch, end, high_watermark: min(end, high_watermark),
    )
    monkeypatch.setattr(fetch_session, "agreement", lambda *_: divergence.Agreement.AGREES)
    monkeypatch.setattr(Replica, "may_have", lambda *_: True)


@pytest.fixture
def fetching_stops():
    """Stops all followers; what they have not heard of by then, they hear of no more."""
    yield lambda: FOLLOWER_FETCH.arm(Action.PAUSE)
    FOLLOWER_FETCH.arm(Action.OFF)


async def ends_are_equal(cluster, *nodes) -> None:
    await cluster.until(lambda: len({node.partition.log.log_end_offset for node in nodes}) == 1, "equal ends")


async def follower_restarts_before_it_learns(cluster, fetching_stops) -> list[bytes]:
    """Story (a): B has an acknowledged record, does not know that it is committed, restarts; then A dies.

    Returns the logs of both at the end.
    """
    await cluster.stop(3)
    a, b = cluster.nodes[1], cluster.nodes[2]
    await cluster.elect(1, [1, 2])
    assert (await a.append(b"first")).error is ErrorCode.NONE
    await cluster.until_equal(1, 2)
    known = b.partition.replica.high_watermark
    b.service.hosted.checkpoint_high_watermarks()
    # The follower's next request acknowledges the record; the answer that tells the new high watermark is
    # never read.
    b.partition.replica.follow_high_watermark = lambda *_: None
    assert (await a.append(b"second")).error is ErrorCode.NONE
    assert (b.partition.log.log_end_offset, b.partition.replica.high_watermark) == (2, known)
    await cluster.stop(2, checkpoint=False)
    fetching_stops()
    await cluster.start(2)
    await cluster.tell(cluster.states.states[b.topic_partition], [2])
    await cluster.stop(1)
    FOLLOWER_FETCH.arm(Action.OFF)
    await cluster.elect(2, [2])
    await cluster.start(1)
    await cluster.tell(cluster.states.states[b.topic_partition], [1])
    assert (await b.append(b"third", acks=1)).error is ErrorCode.NONE
    await ends_are_equal(cluster, a, b)
    return [a.log_bytes(), b.log_bytes()]


async def leader_and_follower_restart(cluster, fetching_stops) -> list[bytes]:
    """Story (b): A has a record that B has not; both die, B comes first, leads and writes; A returns.

    Returns the logs of both at the end.
    """
    await cluster.stop(3)
    a, b = cluster.nodes[1], cluster.nodes[2]
    await cluster.elect(1, [1, 2])
    assert (await a.append(b"first")).error is ErrorCode.NONE
    await cluster.until_equal(1, 2)
    await cluster.stop(2)
    assert (await a.append(b"only at A", acks=1)).error is ErrorCode.NONE
    # Both had it committed, before B's disk lost it: A's last checkpoint even says so.
    a.partition.replica.high_watermark = a.partition.log.log_end_offset
    await cluster.stop(1)
    await cluster.start(2)
    await cluster.elect(2, [2])
    assert (await b.append(b"by B", acks=1)).error is ErrorCode.NONE
    await cluster.start(1)
    await cluster.tell(cluster.states.states[b.topic_partition], [1])
    assert (await b.append(b"by B again", acks=1)).error is ErrorCode.NONE
    await ends_are_equal(cluster, a, b)
    return [a.log_bytes(), b.log_bytes()]


async def test_story_a_the_acknowledged_record_survives(cluster, fetching_stops):
    logs = await follower_restarts_before_it_learns(cluster, fetching_stops)
    assert logs[0] == logs[1]
    assert all(value in logs[0] for value in (b"first", b"second", b"third"))


@pytest.mark.usefixtures("truncation_by_high_watermark")
async def test_story_a_loses_the_record_without_epochs(cluster, fetching_stops):
    logs = await follower_restarts_before_it_learns(cluster, fetching_stops)
    assert b"second" not in logs[1]


async def test_story_b_the_logs_agree(cluster, fetching_stops):
    logs = await leader_and_follower_restart(cluster, fetching_stops)
    assert logs[0] == logs[1]
    assert b"only at A" not in logs[0]


@pytest.mark.usefixtures("truncation_by_high_watermark")
async def test_story_b_the_logs_differ_without_epochs(cluster, fetching_stops):
    logs = await leader_and_follower_restart(cluster, fetching_stops)
    assert logs[0] != logs[1]
