"""An idempotent producer goes on at the next leader where it stopped, and no retry is written twice."""

from __future__ import annotations

from barnabas.cluster.model.errors import ErrorCode


async def written(node, sequence, epoch=0):
    """Where a batch of one record is, or why it was refused."""
    appended = await node.append(b"%d" % sequence, producer=(7, epoch, sequence))
    return appended.base_offset if appended.error is ErrorCode.NONE else appended.error


async def test_a_new_leader_knows_the_batches_of_its_predecessor(cluster):
    await cluster.elect(1, [1, 2, 3])
    assert [await written(cluster.nodes[1], n) for n in range(7)] == list(range(7))
    await cluster.until_equal(1, 2, 3)
    await cluster.stop(1)
    await cluster.elect(2, [2, 3])
    leader = cluster.nodes[2]
    assert await written(leader, 6) == 6
    assert await written(leader, 2) == 2
    assert await written(leader, 1) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert await written(leader, 8) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert await written(leader, 7) == 7
    assert leader.partition.log.log_end_offset == 8


async def test_batches_that_were_cut_off_are_unknown_again(cluster):
    await cluster.elect(1, [1, 2, 3])
    assert await written(cluster.nodes[1], 0) == 0
    await cluster.until_equal(1, 2, 3)
    await cluster.stop(2)
    await cluster.stop(3)
    alone = await cluster.nodes[1].append(b"alone", acks=1, producer=(7, 0, 1))
    assert alone.base_offset == 1
    await cluster.stop(1)
    await cluster.start(2, 3)
    await cluster.elect(2, [2, 3])
    assert (await cluster.nodes[2].append(b"another")).base_offset == 1
    await cluster.start(1)
    await cluster.elect(2, [2, 3])
    await cluster.until_equal(1, 2, 3)
    await cluster.elect(1, [1, 2, 3])
    assert await written(cluster.nodes[1], 1) == 2
