"""A fetcher's stream on a fake clock; real streams are tried in tests/integration/replication."""

from __future__ import annotations

import asyncio
import contextlib
import selectors
from itertools import pairwise

import pytest
from structlog.testing import capture_logs

from barnabas.broker.replicas import replica_fetcher
from barnabas.broker.replicas.replica_fetcher import ReplicaFetcher, StreamLostError
from barnabas.broker.replicas.settings import ReplicaSettings
from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.rpc import replication_pb2 as pb

TP = TopicPartition("t", 0)
MINUTE_S = 60


class JumpingSelector(selectors.SelectSelector):
    """Waits for nothing: where nothing is ready, its clock jumps to when something will be.

    Attributes:
        now: The clock, in seconds.
    """

    def __init__(self):
        super().__init__()
        self.now = 0.0

    def select(self, timeout=None):
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "everybody waits, and nothing is due at any time"
            self.now += timeout
        return ready


class FakeClockLoop(asyncio.SelectorEventLoop):
    """An event loop on which an hour takes no time."""

    def __init__(self):
        self._clock = JumpingSelector()
        super().__init__(self._clock)

    def time(self):
        return self._clock.now


class Leader:
    """A leader behind a stream that is no network.

    Attributes:
        dialled: When each stream was opened, in seconds.
        requests: When each request came, and whether it named a partition.
    """

    def __init__(self, loop, *, away=False, silent_s=0):
        self._loop = loop
        self._away = away
        self._silent_s = silent_s
        self._unanswered = asyncio.Queue()
        self.dialled = []
        self.requests = []

    def leave(self):
        self._away = True

    def come_back(self):
        self._away = False

    def open_channel(self, *_):
        return self

    def stream_stream(self, *_, **__):
        return self

    def __call__(self):
        self.dialled.append(self._loop.time())
        return self

    def cancel(self):
        self._unanswered = asyncio.Queue()

    async def close(self):
        pass

    async def write(self, request):
        self.requests.append((self._loop.time(), bool(request.partitions)))
        self._unanswered.put_nowait(request)

    async def read(self):
        if self._away:
            raise StreamLostError("away")
        await asyncio.sleep(self._silent_s)
        request = await self._unanswered.get()
        if request.partitions:
            refusal = pb.PartitionData(
                topic="t", error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER, leader_epoch=5, fetch_id=1
            )
            return pb.FetchResponse(partitions=[refusal])
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(request.max_wait_ms / 1000):
                # The next request ends the hold, and is answered itself.
                self._unanswered.put_nowait(await self._unanswered.get())
        return pb.FetchResponse()


@pytest.fixture
def loop():
    loop = FakeClockLoop()
    yield loop
    loop.close()


def fetch_for_a_minute(room, loop, monkeypatch, leader):
    """Follow one partition there for a minute of the fake clock."""

    room.hosted.settings = ReplicaSettings()

    async def run():
        room.follow(epoch=5)
        fetcher = ReplicaFetcher(2, Endpoint("GRPC", "127.0.0.1", 1), room.hosted, lambda: 77)
        fetcher.fetch_state.add(TP, 5)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(fetcher.run(), MINUTE_S)

    monkeypatch.setattr(replica_fetcher, "open_channel", leader.open_channel)
    loop.run_until_complete(run())


def test_a_leader_that_is_away_is_dialled_once_in_each_back_off(room, loop, monkeypatch):
    leader = Leader(loop, away=True)
    fetch_for_a_minute(room, loop, monkeypatch, leader)
    backoff_s = room.hosted.settings.fetch_backoff_ms / 1000
    assert len(leader.dialled) == pytest.approx(MINUTE_S / backoff_s, abs=1)
    gaps = [later - earlier for earlier, later in pairwise(leader.dialled)]
    assert min(gaps) == pytest.approx(backoff_s)


def test_a_partition_that_is_refused_is_asked_for_ever_less_often_up_to_the_back_off(room, loop, monkeypatch):
    leader = Leader(loop)
    fetch_for_a_minute(room, loop, monkeypatch, leader)
    settings = room.hosted.settings
    named = [at for at, has_named in leader.requests if has_named]
    gaps = [later - earlier for earlier, later in pairwise(named)]
    assert gaps[:5] == pytest.approx([0.05, 0.1, 0.2, 0.4, 0.8])
    assert gaps[5:] == pytest.approx([settings.fetch_backoff_ms / 1000] * (len(gaps) - 5))
    # One request for each back-off, and one for each answer that was held in vain.
    held = MINUTE_S * 1000 / settings.fetch_wait_max_ms
    assert len(leader.requests) <= 2 * len(named) + held
    assert len(leader.dialled) == 1


def test_a_silent_leader_is_reconnected_and_a_slow_one_is_not(room, loop, monkeypatch):
    silent = Leader(loop, silent_s=3600)
    fetch_for_a_minute(room, loop, monkeypatch, silent)
    settings = room.hosted.settings
    patience_s = (settings.socket_timeout_ms + settings.fetch_backoff_ms) / 1000
    gaps = [later - earlier for earlier, later in pairwise(silent.dialled)]
    assert gaps == [pytest.approx(patience_s)]
    slow = Leader(loop, silent_s=settings.socket_timeout_ms / 1000 - 1)
    fetch_for_a_minute(room, loop, monkeypatch, slow)
    assert len(slow.dialled) == 1


def test_a_loss_is_logged_once_and_so_is_that_the_stream_works_again(room, loop, monkeypatch):
    leader = Leader(loop, away=True)
    loop.call_at(MINUTE_S / 4, leader.come_back)
    loop.call_at(MINUTE_S / 2, leader.leave)
    with capture_logs() as lines:
        fetch_for_a_minute(room, loop, monkeypatch, leader)
    logged = [line["event"] for line in lines if line["event"].startswith("replication stream")]
    lost, again = "replication stream lost; trying again", "replication stream works again"
    assert logged == [lost, again, lost]
    assert {(line["leader"], line["endpoint"]) for line in lines if line["event"] == again} == {
        (2, "GRPC://127.0.0.1:1")
    }


async def test_what_becomes_due_while_a_request_is_sent_goes_with_the_next_one(room):
    """gRPC sends one message of a stream at a time."""
    sending, sent = asyncio.Event(), asyncio.Event()
    requests = []

    class Stream:
        async def write(self, request):
            assert not sending.is_set()
            requests.append([each.topic for each in request.partitions])
            sending.set()
            await sent.wait()
            sending.clear()

    for name in ("t", "u", "v"):
        room.follow(epoch=5, topic_partition=TopicPartition(name, 0))
    fetcher = ReplicaFetcher(2, Endpoint("GRPC", "127.0.0.1", 1), room.hosted, lambda: 77)
    fetcher.fetch_state.add(TP, 5)
    due = asyncio.ensure_future(fetcher._send_what_is_due(Stream()))
    await sending.wait()
    fetcher.fetch_state.add(TopicPartition("u", 0), 5)
    fetcher.fetch_state.add(TopicPartition("v", 0), 5)
    sent.set()
    await fetcher._send(Stream())
    assert requests == [["t"], ["u", "v"]]
    due.cancel()


async def test_records_are_acknowledged_while_another_request_is_in_flight(room):
    """Two requests are out after a partition was added; the leader may hold the second one for long."""
    leader = room.lead(topic_partition=TopicPartition("u", 0))
    room.write(leader, b"x")
    records = leader.log.read(0, 1 << 20, 1).records
    requests, never = [], asyncio.Event()
    answers = [
        pb.FetchResponse(
            partitions=[pb.PartitionData(topic="t", leader_epoch=5, fetch_id=1, records=records)]
        )
    ]

    class Stream:
        async def write(self, request):
            requests.append([(each.topic, each.fetch_offset) for each in request.partitions])

        async def read(self):
            if not answers:
                await never.wait()
            return answers.pop()

    room.follow(epoch=5)
    fetcher = ReplicaFetcher(2, Endpoint("GRPC", "127.0.0.1", 1), room.hosted, lambda: 77)
    stream = Stream()
    fetcher.fetch_state.add(TP, 5)
    await fetcher._send(stream)
    fetcher._fetch_now()
    await fetcher._send(stream)
    reading = asyncio.ensure_future(fetcher._read_answers(stream))
    await asyncio.sleep(0)
    reading.cancel()
    assert requests == [[("t", 0)], [], [("t", 1)]]
