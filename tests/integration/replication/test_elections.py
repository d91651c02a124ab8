"""Leader changes, clean and unclean: whatever happened, the logs agree once all are back."""

from __future__ import annotations

import random

import pytest

from barnabas.cluster.model.errors import ErrorCode


async def test_leadership_moves_and_the_followers_go_on(cluster):
    await cluster.elect(1, [1, 2, 3])
    assert (await cluster.nodes[1].append(b"at 1")).error is ErrorCode.NONE
    await cluster.elect(2, [1, 2, 3])
    assert (await cluster.nodes[1].append(b"too late")).error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (await cluster.nodes[2].append(b"at 2")).error is ErrorCode.NONE
    await cluster.until_equal(1, 2, 3)
    assert cluster.nodes[1].partition.log.latest_epoch == 1


async def test_a_delayed_produce_completes_when_the_leader_changes(cluster):
    await cluster.elect(1, [1, 2, 3])
    await cluster.stop(3)
    waiting = cluster.nodes[1].service.appends.append(
        {cluster.nodes[1].topic_partition: cluster.nodes[1].batch(b"a")}, acks=-1, timeout_ms=60_000
    )
    await cluster.elect(2, [1, 2])
    assert (await waiting)[cluster.nodes[1].topic_partition].error is ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize("lag_time_max_ms", [2_000])
async def test_an_unclean_election_cuts_the_others_to_the_new_leader(cluster):
    await cluster.elect(1, [1, 2, 3])
    await cluster.nodes[1].append(b"all have it")
    await cluster.until_equal(1, 2, 3)
    await cluster.stop(3)
    await cluster.nodes[1].append(b"1 and 2 have it")
    await cluster.until_equal(1, 2)
    await cluster.stop(1)
    await cluster.stop(2)
    await cluster.start(3)
    await cluster.elect(3, [3])
    await cluster.start(1, 2)
    await cluster.tell(cluster.states.states[cluster.nodes[1].topic_partition], [1, 2])
    await cluster.nodes[3].append(b"3 goes on", acks=1)
    await cluster.until_equal(1, 2, 3)
    assert b"1 and 2 have it" not in cluster.nodes[1].log_bytes()


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_fast_changes_of_leaders_leave_equal_logs(cluster, seed):
    """KAFKA-6361 (KIP-279): a third leader in a row left logs apart for ever; also KIP-101."""
    dice = random.Random(seed)
    leader = 1
    await cluster.elect(leader, [1, 2, 3])
    for number in range(12):
        # Only some hear of each change, and what an unheard leader takes in alone it must give up later.
        hears = dice.sample((1, 2, 3), dice.choice((1, 2, 3)))
        leader = dice.choice(hears)
        await cluster.elect(leader, [leader], tell=hears)
        for node in cluster.nodes.values():
            await node.append(b"%d of %d" % (number, node.id), acks=1)
    await cluster.elect(leader, [leader])
    await cluster.nodes[leader].append(b"the end", acks=1)
    await cluster.until_equal(1, 2, 3)
    await cluster.until(lambda: cluster.isr == {1, 2, 3}, "a full ISR")
