"""Mutated requests by the million: no crash, no hang over 100 ms, no growth over 50 MB.

``scripts/fuzz-frames --frames 10000000`` hands them to what a broker does with a frame before a handler sees
it: the guard, the decoder, and for Produce the checks of a batch and its recompression. ``--broker`` sends
them to a broker of its own over several connections instead, handlers and all. There a hang is a turn of the
broker's loop that took more than 100 ms of CPU time, as the broker's own metrics page has it: load of other
programs does not count. A failure names the seed and, without a broker, the frame.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import struct
import sys
import tempfile
import time
from collections import deque
from pathlib import Path

import confluent_kafka.admin
import psutil

from barnabas.bench.cases.hostile import turns_of
from barnabas.broker.core.batch_validation import AppendOrigin, check_leader_append
from barnabas.broker.core.log_config import LogConfig
from barnabas.broker.core.recompression import recompress
from barnabas.broker.core.record_batch import RecordBatch
from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.broker.wire.frames import UnreadableFrameError, decode, read_prefix
from barnabas.local.cluster import LocalCluster
from tests.integration.hostile_requests import (
    PASSING,
    TOPIC,
    mutated,
    sized,
    well_formed,
)

TEMPLATES = 4_000
"""How many well-formed requests are made, of which each frame is a mutation."""

HANG_S = 0.1
GROWTH_BYTES = 50_000_000
REPORT_EVERY = 100_000
CONNECTIONS = 16
PIPELINED = 16
"""How many frames a connection sends at once, each with a marker behind it."""

PATIENCE_S = 10.0
WARM_UP = 10_000
FIRST_MARKER = 0x7A57_0000
"""The correlation id of the first marker: no frame of ours has one like it."""

CONFIG = LogConfig(compression_type="lz4")


class Fuzz:
    """What is found while it goes on."""

    def __init__(self, pid):
        self._process = psutil.Process(pid)
        self._began = time.monotonic()
        self._first_rss = 0
        self.frames = self.refused = 0
        self.slowest_s, self.slowest = 0.0, b""
        self.growth = self.hangs = 0

    def took(self, seconds, frame):
        if seconds > self.slowest_s:
            self.slowest_s, self.slowest = seconds, frame

    def count(self, frames, refused):
        """Count frames, and report now and then."""
        before = self.frames // REPORT_EVERY
        self.frames += frames
        self.refused += refused
        if self.frames // REPORT_EVERY > before:
            self.report()

    def look_at_memory(self):
        """Note by how much it has grown, at most."""
        if self._first_rss:
            self.growth = max(self.growth, self._process.memory_info().rss - self._first_rss)

    def warmed_up(self):
        """Everything is compiled and loaded: what comes now must not grow."""
        self._first_rss = self._process.memory_info().rss

    def report(self):
        self.look_at_memory()
        seconds, cpu = time.monotonic() - self._began, self._process.cpu_times()
        print(
            f"{self.frames} frames in {seconds:.0f} s ({self.frames / seconds:.0f}/s), "
            f"{cpu.user + cpu.system:.0f} s of CPU time, {self.refused} refused, "
            f"slowest {self.slowest_s * 1000:.1f} ms, growth {self.growth / 1e6:.1f} MB",
            flush=True,
        )

    def faults(self):
        if self.slowest_s > HANG_S:
            yield f"a hang of {self.slowest_s:.3f} s by {self.slowest.hex()}"
        if self.hangs:
            yield f"{self.hangs} turns of more than {HANG_S} s of CPU time"
        if self.growth > GROWTH_BYTES:
            yield f"growth of {self.growth} bytes"


def take(frame):
    """What a broker does with a frame before a handler sees it; True where it is refused."""
    try:
        view = memoryview(frame).toreadonly()
        prefix = read_prefix(view)
        api = APIS.get(prefix.api_key)
        if api is None or not api.serves(prefix.api_version):
            return True
        request = decode(view, "PLAINTEXT")
    except UnreadableFrameError:
        return True
    if prefix.api_key == ApiKey.PRODUCE:
        now_ms = time.time_ns() // 1_000_000
        for topic in request.body.topic_data:
            for partition in topic.partition_data:
                batch = check_leader_append(partition.records, CONFIG, now_ms, AppendOrigin.CLIENT)
                if isinstance(batch, RecordBatch):
                    recompress(batch, CONFIG, now_ms, "t-0")
    return False


def in_process(frames, rng, templates):
    """Fuzz without sockets; a thread's own time counts, so that a busy machine is no hang."""
    fuzz = Fuzz(None)
    for number in range(frames):
        frame = mutated(rng, templates[rng.randrange(TEMPLATES)])
        began = time.thread_time()
        try:
            fuzz.refused += take(frame)
        except Exception:
            print(f"frame {number}: {frame.hex()}", file=sys.stderr)
            raise
        fuzz.frames += 1
        if number == min(frames, REPORT_EVERY) // 2:
            fuzz.warmed_up()
            fuzz.slowest_s = 0.0
        else:
            fuzz.took(time.thread_time() - began, frame)
        if fuzz.frames % REPORT_EVERY == 0:
            fuzz.report()
    fuzz.report()
    return fuzz


def marker(number):
    """A request that every broker answers: if it does, the frame before it has closed nothing."""
    return struct.pack(">ihhih", 10, ApiKey.API_VERSIONS, 0, FIRST_MARKER + number, -1)


MARKERS = [marker(number) for number in range(PIPELINED)]


async def exchange(port, frames):
    """Send some frames at once over a new connection; how many the broker took before it closed it.

    A frame that is refused costs its connection, so those behind it were not seen.
    """
    taken, writer = 0, None
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"".join(sized(frame) + mark for frame, mark in zip(frames, MARKERS, strict=False)))
        async with asyncio.timeout(PATIENCE_S):
            while taken < len(frames):
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                answer = await reader.readexactly(size)
                if answer[:4] == struct.pack(">i", FIRST_MARKER + taken):
                    taken += 1
    except (ConnectionError, asyncio.IncompleteReadError, TimeoutError):
        pass
    if writer is not None:
        writer.transport.abort()
    return taken


async def one_client(port, fuzz, frames, rng, templates):
    """Send so many frames."""
    waiting = deque()
    while frames or waiting:
        while frames and len(waiting) < PIPELINED:
            waiting.append(mutated(rng, templates[rng.randrange(TEMPLATES)]))
            frames -= 1
        taken = await exchange(port, waiting)
        is_refused = taken < len(waiting)
        for _ in range(taken + is_refused):
            waiting.popleft()
        fuzz.count(taken + is_refused, is_refused)


def long_turns(metrics):
    """How many turns of the broker's loop have taken more than ``HANG_S`` of CPU time since its start."""
    counted = turns_of(metrics)
    return counted[math.inf] - counted[HANG_S]


async def over_the_wire(broker, frames, rng, templates):
    """Fuzz a broker."""
    fuzz, hangs = Fuzz(broker.pid), 0
    metrics, port = broker.metrics, int(broker.kafka.rpartition(":")[2])
    warm_up = min(WARM_UP, frames // 2)
    for some in (warm_up, frames - warm_up):
        hangs = await asyncio.to_thread(long_turns, metrics)
        fuzz.warmed_up()
        seeds = [random.Random(rng.random()) for _ in range(CONNECTIONS)]
        shares = [len(range(number, some, CONNECTIONS)) for number in range(CONNECTIONS)]
        await asyncio.gather(
            *(one_client(port, fuzz, *each, templates) for each in zip(shares, seeds, strict=True))
        )
    fuzz.look_at_memory()
    fuzz.hangs = await asyncio.to_thread(long_turns, metrics) - hangs
    return fuzz


def against_a_broker(frames, rng, templates):
    """Start a broker, fuzz it, and see that it is the same process and serves."""
    overrides = {"auto.create.topics.enable": "false"}
    with (
        tempfile.TemporaryDirectory(prefix="fuzz-frames-") as directory,
        LocalCluster(Path(directory), brokers=1, overrides=overrides) as cluster,
    ):
        admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": cluster.bootstrap})
        new = [confluent_kafka.admin.NewTopic(name, 1, 1) for name in (TOPIC, PASSING)]
        for made in admin.create_topics(new).values():
            made.result(60)
        pid = cluster.brokers[1].pid
        fuzz = asyncio.run(over_the_wire(cluster.brokers[1], frames, rng, templates))
        if not psutil.pid_exists(pid):
            raise RuntimeError("the broker is gone")
        fuzz.report()
        return fuzz


def main():
    """Fuzz as the command line says; 0 where nothing was found."""
    parser = argparse.ArgumentParser(prog="fuzz-frames", description=__doc__)
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--broker", action="store_true", help="over the wire, to a broker of its own")
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    rng = random.Random(asked.seed)
    templates = [well_formed(rng) for _ in range(TEMPLATES)]
    run = against_a_broker if asked.broker else in_process
    fuzz = run(asked.frames, rng, templates)
    faults = list(fuzz.faults())
    print("\n".join(faults) or "nothing found", flush=True)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
