from __future__ import annotations

import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.wire.guard import HostileFrameError
from barnabas.broker.wire.receive import CHUNK_BYTES, SHORT_FRAMES, ReceiveBuffer

MAX = 2**20


def framed(body):
    return struct.pack(">i", len(body)) + body


def feed(buffer, data, step):
    """Write ``data`` as a socket would, in pieces of at most ``step`` bytes, and collect the frames."""
    frames = []
    while data:
        room = buffer.writable()
        assert len(room)
        count = min(len(room), step, len(data))
        room[:count] = data[:count]
        buffer.received(count)
        data = data[count:]
        while (frame := buffer.frame()) is not None:
            frames.append(bytes(frame))
            buffer.consume()
    return frames


@given(
    st.lists(st.sampled_from([0, 1, 8, 100, 5000, CHUNK_BYTES - 4, CHUNK_BYTES, 100_000]), max_size=12),
    st.sampled_from([1000, 4096, CHUNK_BYTES, MAX]),
)
def test_frames_come_out_as_they_were_cut(sizes, step):
    bodies = [random.Random(size).randbytes(size) for size in sizes]
    assert feed(ReceiveBuffer(MAX), b"".join(map(framed, bodies)), step) == bodies


def test_frames_come_out_byte_by_byte():
    bodies = [b"", b"a", b"bc" * 50]
    assert feed(ReceiveBuffer(MAX), b"".join(map(framed, bodies)), 1) == bodies


def test_a_frame_is_read_only():
    buffer = ReceiveBuffer(MAX)
    buffer.writable()[:5] = framed(b"x")
    buffer.received(5)
    assert buffer.frame().readonly


@pytest.mark.parametrize("size", [-1, -(2**31), MAX + 1, 2**31 - 1])
def test_a_size_out_of_bounds_is_refused(size):
    buffer = ReceiveBuffer(MAX)
    buffer.writable()[:4] = struct.pack(">i", size)
    buffer.received(4)
    with pytest.raises(HostileFrameError, match=f"frame of {size} bytes; expected 0 to {MAX}"):
        buffer.frame()


def test_an_announced_size_reserves_nothing_until_its_bytes_come():
    buffer = ReceiveBuffer(100 * MAX)
    data = struct.pack(">i", 100 * MAX) + bytes(3 * CHUNK_BYTES)
    assert feed(buffer, data, CHUNK_BYTES) == []
    assert buffer.capacity == 4 * CHUNK_BYTES


def test_the_rest_of_a_large_frame_is_asked_for_exactly():
    buffer = ReceiveBuffer(MAX)
    feed(buffer, framed(bytes(200_000)), MAX)
    grown = buffer.capacity
    assert len(buffer.writable()) == CHUNK_BYTES
    feed(buffer, framed(bytes(200_000))[:1000], MAX)
    assert len(buffer.writable()) == 200_004 - 1000
    assert buffer.capacity == grown


def test_a_silent_connection_gives_its_memory_back():
    buffer = ReceiveBuffer(MAX)
    feed(buffer, framed(bytes(200_000)), MAX)
    buffer.release()
    assert buffer.capacity == 0
    assert feed(buffer, framed(b"again"), MAX) == [b"again"]
    # An idle connection took 32 KB.
    assert buffer.capacity == 0


def test_connections_with_nothing_begun_receive_in_the_same_memory():
    one, other = ReceiveBuffer(MAX), ReceiveBuffer(MAX)
    assert one.writable() is other.writable()
    feed(one, framed(b"first")[:6], MAX)
    feed(other, framed(b"second")[:6], MAX)
    assert feed(one, framed(b"first")[6:], MAX) == [b"first"]
    assert feed(other, framed(b"second")[6:], MAX) == [b"second"]


@pytest.mark.parametrize("begun", [1, 1_000, 150_000])
def test_a_begun_frame_is_not_given_back_but_the_rest_of_its_buffer(begun):
    buffer, data = ReceiveBuffer(MAX), framed(bytes(200_000))
    feed(buffer, data[:begun], MAX)
    buffer.release()
    assert buffer.capacity == begun
    assert feed(buffer, data[begun:] + framed(b"again"), MAX) == [bytes(200_000), b"again"]


@given(st.integers(0, 5_000), st.integers(0, 60_000))
def test_a_frame_that_is_given_away_stays_while_others_come_in(next_bytes, step):
    first, second = random.Random(1).randbytes(10_000), random.Random(2).randbytes(50_000)
    buffer, data = ReceiveBuffer(MAX), framed(first) + framed(second)
    come = len(framed(first)) + next_bytes
    begun = 0
    while begun < come:
        room = buffer.writable()
        count = min(len(room), come - begun)
        room[:count] = data[begun : begun + count]
        buffer.received(count)
        begun += count
    frame = buffer.frame()
    buffer.consume()
    buffer.give_away()
    assert feed(buffer, data[begun:], step + 1) == [second]
    assert frame == first


def test_the_room_of_a_long_frame_is_given_back_after_many_short_ones():
    buffer = ReceiveBuffer(MAX)
    feed(buffer, framed(bytes(500_000)), MAX)
    assert buffer.capacity > 500_000
    feed(buffer, framed(b"short") * SHORT_FRAMES, 9)
    buffer.writable()
    assert buffer.capacity == 0
