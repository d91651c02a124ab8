"""What does a request cost that names far more than any client does?

One broker gets well-formed requests of each API at 10, 1,000 and 100,000 topics, partitions or resources.
While it works on them, another connection asks for ApiVersions without a pause: the longest of those waits
is how long the broker served nobody, and all that a few turns of its event loop add up to.
"""

from __future__ import annotations

import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from barnabas.bench.hostile_frames import REQUESTS, TOPIC, hostile_frame
from barnabas.bench.registry import Bench, Run, at_most
from barnabas.broker.wire.apis import ApiKey
from barnabas.local.cluster import LocalCluster

PARTITIONS = 8
"""Those of the topic that exist; the others are unknown."""

SIZES = (10, 1_000)
"""The smaller numbers of elements; the largest is a size of the bench."""

FRAMES = {10: 300, 1_000: 20}
"""How often requests of so many elements are sent, so that their CPU time can be measured; others once."""

PATIENCE_S = 120.0
PAUSE_S = 0.002

_PROBE = struct.pack(">ihhih", 10, ApiKey.API_VERSIONS, 0, 1, -1)
_SIZE = struct.Struct(">i")


@dataclass(frozen=True, slots=True)
class Cost:
    """What requests of one API and size took.

    Attributes:
        api: Which API.
        elements: How many topics, partitions or resources each named.
        cpu_s: The broker's CPU-seconds for all of them.
        frames: How many there were.
        bytes: The bytes of one.
        longest_wait_s: The longest wait of the other connection meanwhile.
        memory_mb: The broker's largest resident memory so far, 10^6 bytes.
    """

    api: ApiKey
    elements: int
    cpu_s: float
    frames: int
    bytes: int
    longest_wait_s: float
    memory_mb: float

    def __str__(self) -> str:
        milliseconds = self.cpu_s / self.frames * 1e3
        nanoseconds = self.cpu_s / self.frames / self.bytes * 1e9
        return (
            f"{self.api.name.lower():30} {self.elements:>9,} {self.bytes:>11,} {milliseconds:>10.2f} "
            f"{nanoseconds:>8.0f} {self.longest_wait_s * 1e3:>9.1f} {self.memory_mb:>7.0f}"
        )


HEADER = f"{'API':30} {'elements':>9} {'bytes':>11} {'CPU, ms':>10} {'ns/byte':>8} {'wait, ms':>9} {'MB':>7}"


class Waits:
    """Asks for ApiVersions without a pause, in a thread, and notes the longest wait.

    Args:
        address: The broker's ``host:port``.
    """

    def __init__(self, address: str) -> None:
        self._connection = _connect(address)
        self._stopped = threading.Event()
        self._longest_s = 0.0
        self._thread = threading.Thread(target=self._ask, name="waits", daemon=True)
        self._thread.start()

    def _ask(self) -> None:
        while not self._stopped.wait(PAUSE_S):
            asked = time.perf_counter()
            self._connection.sendall(_PROBE)
            _receive(self._connection)
            self._longest_s = max(self._longest_s, time.perf_counter() - asked)

    def longest_s(self) -> float:
        """The longest wait since the last call, seconds."""
        longest, self._longest_s = self._longest_s, 0.0
        return longest

    def stop(self) -> None:
        """Ask no more."""
        self._stopped.set()
        self._thread.join(PATIENCE_S)
        self._connection.close()


def _connect(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE_S)


def _receive(connection: socket.socket) -> int:
    """Read an answer; its bytes.

    Raises:
        ConnectionError: The broker hung up.
    """
    size, read = None, b""
    left = _SIZE.size
    while left:
        some = connection.recv(min(left, 1_000_000))
        if not some:
            raise ConnectionError("the broker hung up, expected an answer")
        left -= len(some)
        if size is None:
            read += some
            if not left:
                size = left = _SIZE.unpack(read)[0]
    return size or 0


@contextmanager
def _broker() -> Iterator[tuple[str, psutil.Process]]:
    """One broker with the topic: its address and its process."""
    settings = {"auto.create.topics.enable": "false", "state.change.log.level": "INFO"}
    with (
        tempfile.TemporaryDirectory(prefix="barnabas-bench-") as directory,
        LocalCluster(Path(directory), brokers=1, overrides=settings) as cluster,
    ):
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 2})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(PATIENCE_S)
        (broker,) = cluster.brokers.values()
        yield broker.kafka, psutil.Process(broker.pid)


def _cost(address: str, process: psutil.Process, waits: Waits, api: ApiKey, elements: int) -> Cost:
    frame, frames = hostile_frame(api, elements), FRAMES.get(elements, 1)
    with _connect(address) as connection:
        waits.longest_s()
        before = sum(process.cpu_times()[:2])
        for _ in range(frames):
            connection.sendall(frame)
            _receive(connection)
        cpu_s = sum(process.cpu_times()[:2]) - before
        return Cost(
            api, elements, cpu_s, frames, len(frame), waits.longest_s(), process.memory_info().rss / 1e6
        )


def measure(elements: int) -> Run:
    """Send each request in each size, and print a line for each."""
    costs: list[Cost] = []
    with _broker() as (address, process):
        waits = Waits(address)
        print(HEADER, file=sys.stderr)
        for api in REQUESTS:
            for size in (*SIZES, elements):
                costs.append(_cost(address, process, waits, api, size))
                print(costs[-1], file=sys.stderr, flush=True)
        waits.stop()
        memory_mb = process.memory_info().rss / 1e6
    dearest = max((cost for cost in costs if cost.elements == elements), key=lambda cost: cost.cpu_s)
    return Run(
        max(cost.longest_wait_s for cost in costs) * 1e3,
        {
            f"s of CPU, {dearest.api.name.lower()}": dearest.cpu_s,
            "MB at most": max(cost.memory_mb for cost in costs),
            "MB at the end": memory_mb,
        },
    )


BENCHES = (
    Bench(
        name="hostile",
        question="How long does a broker serve nobody while it gets requests of 100,000 elements?",
        unit="ms",
        target=at_most(20.0),
        measure=measure,
        runs=1,
        sizes={"elements": 100_000},
    ),
)
