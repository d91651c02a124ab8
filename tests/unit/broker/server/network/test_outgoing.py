"""Over a real socket pair: what is sent arrives in order, and no more of a file is in memory than must be."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket

import pytest
import uvloop

from barnabas.broker.disk.segment.file_records import FileRecords
from barnabas.broker.server.memory import AnswerMemory
from barnabas.broker.server.network.outgoing import PIECE_BYTES, Outgoing

SIZE = 8_000_000


class Protocol(asyncio.Protocol):
    def __init__(self, sender):
        self._sender = sender

    def pause_writing(self):
        self._sender.outgoing.paused()

    def resume_writing(self):
        self._sender.outgoing.resumed()

    def connection_lost(self, exc):
        self._sender.gone.set()


class Sender:
    """One end of a connection with an ``Outgoing``, and the other end as a blocking socket."""

    def __init__(self):
        self.all_sent, self.gone, self.failed = asyncio.Event(), asyncio.Event(), []

    async def connect(self):
        ours, self.theirs = socket.socketpair()
        self.theirs.settimeout(0)
        self.transport, _ = await asyncio.get_running_loop().create_connection(
            lambda: Protocol(self), sock=ours
        )
        self.memory, self.evicted = AnswerMemory(), []
        self.outgoing = Outgoing(
            self.transport,
            self.memory,
            self.all_sent.set,
            self.failed.append,
            lambda: self.evicted.append(True),
        )

    async def received(self, size):
        data = b""
        while len(data) < size:
            data += await asyncio.get_running_loop().sock_recv(self.theirs, 1 << 20)
        return data

    def close(self):
        self.transport.abort()
        self.theirs.close()


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request):
    """Runs a test on either loop: brokers run on the second one, and the transports differ."""

    def on_loop(test):
        async def whole():
            sender = Sender()
            await sender.connect()
            with contextlib.closing(sender):
                async with asyncio.timeout(60):
                    await test(sender)

        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(whole())

    return on_loop


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "segment"
    path.write_bytes(os.urandom(SIZE))
    fd = os.open(path, os.O_RDWR)
    yield path, fd
    os.close(fd)


def test_bytes_and_files_arrive_in_their_order(run, file):
    path, fd = file

    async def test(sender):
        content = path.read_bytes()
        sender.outgoing.send(
            [b"head", FileRecords(lambda: fd, 5, 3_000_000), b"between", FileRecords(lambda: fd, 0, 70_000)]
        )
        sender.outgoing.send([b"tail"])
        expected = b"head" + content[5:3_000_005] + b"between" + content[:70_000] + b"tail"
        assert await sender.received(len(expected)) == expected
        assert sender.outgoing.is_idle
        assert not sender.failed

    run(test)


def test_a_client_that_reads_nothing_costs_a_piece(run, file):
    _, fd = file

    async def test(sender):
        sender.outgoing.send([FileRecords(lambda: fd, 0, SIZE)])
        for _ in range(10):
            await asyncio.sleep(0)
        assert not sender.outgoing.is_idle
        assert sender.transport.get_write_buffer_size() <= PIECE_BYTES
        assert len(await sender.received(SIZE)) == SIZE
        await sender.all_sent.wait()
        assert sender.outgoing.is_idle

    run(test)


def test_large_bytes_wait_too_and_are_reported_when_sent(run):
    async def test(sender):
        sender.outgoing.send([bytes(SIZE)])
        assert not sender.outgoing.is_idle
        await sender.received(SIZE)
        await sender.all_sent.wait()
        assert sender.outgoing.is_idle

    run(test)


def test_a_file_that_is_closed_meanwhile_is_reported(run, file):
    _, fd = file

    async def test(sender):
        descriptor = [fd]
        sender.outgoing.send([FileRecords(lambda: descriptor[0], 0, SIZE)])
        descriptor[0] = -1
        with contextlib.suppress(BlockingIOError):
            while not sender.failed:
                await sender.received(1)
        assert len(sender.failed) == 1
        assert sender.outgoing.is_idle or sender.transport.get_write_buffer_size()

    run(test)


def test_a_file_that_was_cut_meanwhile_is_reported(run, file):
    path, fd = file

    async def test(sender):
        sender.outgoing.send([FileRecords(lambda: fd, 0, SIZE)])
        os.truncate(path, 4_000_000)
        while not sender.failed:
            await sender.received(1)
        assert "expected 16384" in str(sender.failed[0])

    run(test)


def test_a_client_that_is_gone_is_no_failure(run, file):
    _, fd = file

    async def test(sender):
        sender.outgoing.send([FileRecords(lambda: fd, 0, SIZE)])
        sender.theirs.close()
        await sender.gone.wait()
        assert not sender.failed

    run(test)


def test_what_waits_is_counted_until_it_is_sent(run):
    async def test(sender):
        sender.outgoing.send([bytes(SIZE), bytes(SIZE)])
        waits = SIZE + sender.transport.get_write_buffer_size()
        assert sender.memory.used == waits
        await sender.received(2 * SIZE)
        await sender.all_sent.wait()
        assert sender.memory.used == 0

    run(test)


def test_who_is_evicted_holds_nothing(run):
    async def test(sender):
        sender.outgoing.send([bytes(SIZE), bytes(SIZE)])
        sender.outgoing.evict()
        assert sender.evicted
        sender.outgoing.clear()

    run(test)
