"""A fetch stream that claims records which nobody sent it, from one that may speak as a broker."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest

from barnabas.broker.replicas.replica_fetcher import FETCH_METHOD
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.rpc import replication_pb2 as pb
from barnabas.cluster.rpc.channels import open_channel

SESSION_MS = 6000


class FakeFollower:
    """A stream that speaks as broker 2."""

    def __init__(self, stream, topic_partition):
        self._stream = stream
        self._named = topic_partition

    async def claim(self, offset, *, epoch, last_epoch=0):
        """Fetch at ``offset``, as if everything below were there; return the answer, or an empty one."""
        request = pb.FetchRequest(replica_id=2, broker_epoch=100, max_wait_ms=0, max_bytes=1 << 20)
        topic, number = self._named
        request.partitions.add(
            topic=topic,
            partition=number,
            current_leader_epoch=epoch,
            fetch_offset=offset,
            last_fetched_epoch=last_epoch,
            max_bytes=1 << 20,
        )
        await self._stream.write(request)
        return next(iter((await self._stream.read()).partitions), pb.PartitionData())


@asynccontextmanager
async def fake_follower(leader):
    async with open_channel("127.0.0.1", leader.port, SESSION_MS) as channel:
        stream = channel.stream_stream(
            FETCH_METHOD,
            request_serializer=pb.FetchRequest.SerializeToString,
            response_deserializer=pb.FetchResponse.FromString,
        )()
        yield FakeFollower(stream, leader.topic_partition)
        stream.cancel()


@pytest.mark.parametrize("isr", [[1, 2], [1]])
async def test_claims_beyond_what_was_sent_move_neither_high_watermark_nor_isr(cluster, isr):
    leader = cluster.nodes[1]
    await cluster.stop(2)
    await cluster.stop(3)
    await cluster.elect(1, [1, 2])
    assert (await leader.append(b"a", b"b", acks=1)).error is ErrorCode.NONE
    replica = leader.partition.replica
    async with fake_follower(leader) as fake:
        answer = await fake.claim(2, epoch=replica.leader_epoch)
        assert answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert replica.high_watermark == 0
        await cluster.elect(1, isr)
        before = replica.high_watermark
        answer = await fake.claim(2, epoch=replica.leader_epoch)
        assert answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE, "nor does a new epoch make it true"
        assert (replica.high_watermark, replica.pending, replica.isr) == (before, None, tuple(isr))
        assert replica.remote(2).log_end_offset == -1
        # What it was sent it may claim: no leader can tell whether it was written.
        assert (await fake.claim(0, epoch=replica.leader_epoch, last_epoch=-1)).records
        assert (await fake.claim(2, epoch=replica.leader_epoch)).error_code == ErrorCode.NONE
        assert replica.remote(2).log_end_offset == 2


async def test_the_limit_records_of_former_leaders_may_be_claimed_without_having_them(cluster):
    """What decision 12 does not cover: below its start a leadership compares epochs, not contents."""
    leader, former = cluster.nodes[1], cluster.nodes[3]
    await cluster.stop(2)
    await cluster.elect(3, [1, 3])
    assert (await former.append(b"a", b"b", acks=-1)).error is ErrorCode.NONE
    await cluster.stop(3)
    await cluster.elect(1, [1, 2])
    replica = leader.partition.replica
    assert replica.leadership_start_offset == 2
    assert (await leader.append(b"c", acks=1)).error is ErrorCode.NONE
    async with fake_follower(leader) as fake:
        answer = await fake.claim(3, epoch=replica.leader_epoch, last_epoch=replica.leader_epoch)
        assert answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert replica.remote(2).log_end_offset == -1
        assert (await fake.claim(2, epoch=replica.leader_epoch)).error_code == ErrorCode.NONE
        assert replica.remote(2).log_end_offset == replica.high_watermark == 2
