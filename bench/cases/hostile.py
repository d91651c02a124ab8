"""The time for which requests with very many elements keep a broker from serving others.

One broker gets well-formed requests of each API with 10, 1,000 and 100,000 topics, partitions, resources,
settings or tags. Meanwhile another connection sends an ApiVersions request every 5 ms; its longest wait is
the figure. The wait includes the time that other programs use the core. So the table also shows the longest
turn of the event loop in CPU time, as the bound of its bucket on the broker's metrics page.
"""

from __future__ import annotations

import re
import struct
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from barnabas.bench.clients.abusers import Bystander
from barnabas.bench.clients.connection import connect, receive
from barnabas.bench.clients.hostile_frames import HOSTILE, TOPIC, HostileRequest, hostile_frame
from barnabas.bench.harness.registry import Bench, Run, at_most
from barnabas.broker.wire.apis import ApiKey
from barnabas.local.cluster import LocalCluster

PARTITIONS = 8
"""The number of existing partitions of the topic; the others in requests are unknown."""

SIZES = (10, 1_000)
"""The smaller numbers of elements; the largest is a size of the bench."""

FRAMES = {10: 300, 1_000: 20}
"""The number of requests by their elements, so that CPU time is measurable; others are sent once."""

ACLS_AT_ONCE = 500
"""The number of ACLs in one request, before the measurement."""

USERS = 10
"""The number of users with an ACL for each resource."""

GROUPS_FROM = 3
"""Of four resources three are topics, one is a group."""

PATIENCE_S = 120.0

_PROBE = struct.pack(">ihhih", 10, ApiKey.API_VERSIONS, 0, 1, -1)


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of requests of one kind and size.

    Attributes:
        name: The kind of request.
        elements: The number of topics, partitions or resources in each.
        cpu_s: The broker's CPU-seconds for all of them.
        frames: The number of requests.
        bytes: The bytes of one request.
        longest_wait_s: The longest wait of the other connection, seconds.
        turn_s: An upper bound of the CPU time of every turn of the broker's event loop, seconds.
        memory_mb: The broker's largest resident memory so far, 10^6 bytes.
    """

    name: str
    elements: int
    cpu_s: float
    frames: int
    bytes: int
    longest_wait_s: float
    turn_s: float
    memory_mb: float

    def __str__(self) -> str:
        milliseconds = self.cpu_s / self.frames * 1e3
        nanoseconds = self.cpu_s / self.frames / self.bytes * 1e9
        return (
            f"{self.name:30} {self.elements:>9,} {self.bytes:>11,} {milliseconds:>10.2f} "
            f"{nanoseconds:>8.0f} {self.longest_wait_s * 1e3:>9.1f} "
            f"{self.turn_s * 1e3:>9.0f} {self.memory_mb:>7.0f}"
        )


HEADER = (
    f"{'request':30} {'elements':>9} {'bytes':>11} {'CPU, ms':>10} {'ns/byte':>8} "
    f"{'wait, ms':>9} {'turn, ms':>9} {'MB':>7}"
)


def turns(metrics: str) -> dict[float, int]:
    """Parse the histogram of the CPU time of the event loop's turns.

    Args:
        metrics: The broker's metrics page, as text.

    Returns:
        The buckets' bounds in seconds, ascending, with the cumulative number of turns.
    """
    found = re.findall(r'^barnabas_event_loop_cpu_seconds_bucket{le="([^"]+)"} (\S+)$', metrics, re.MULTILINE)
    return {float(bound): int(float(count)) for bound, count in found}


def longest_turn_s(before: dict[float, int], after: dict[float, int]) -> float:
    """Return the bound of the highest bucket that was counted between two readings; 0 if none was."""
    bounds = sorted(after)
    lower = 0
    longest = 0.0
    for bound in bounds:
        counted = after[bound] - before[bound]
        if counted > lower:
            longest = bound
        lower = counted
    return longest


def turns_of(address: str) -> dict[float, int]:
    """Fetch the metrics page at ``address`` (``host:port``), and return its `turns`."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=PATIENCE_S) as page:
        return turns(page.read().decode())


@contextmanager
def _broker(acls: int = 0) -> Iterator[tuple[str, str, psutil.Process]]:
    """Run one broker with the topic, and with an authorizer if there are to be ACLs.

    Yields:
        Its address, its metrics address and its process.
    """
    settings = {"auto.create.topics.enable": "false", "state.change.log.level": "INFO"}
    if acls:
        settings |= {
            "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
            # The client may do everything with the cluster and the topic, which have no ACLs.
            "allow.everyone.if.no.acl.found": "true",
        }
    with (
        tempfile.TemporaryDirectory(prefix="barnabas-bench-") as directory,
        LocalCluster(Path(directory), brokers=1, overrides=settings) as cluster,
    ):
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 2})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(PATIENCE_S)
        wanted = others_acls(acls)
        for begin in range(0, acls, ACLS_AT_ONCE):
            created = admin.create_acls(wanted[begin : begin + ACLS_AT_ONCE])
            for outcome in created.values():
                outcome.result(PATIENCE_S)
        (broker,) = cluster.brokers.values()
        yield broker.kafka, broker.metrics, psutil.Process(broker.pid)


def others_acls(count: int) -> list[AclBinding]:
    """Return ACLs of `USERS` others for topics and groups that requests name, half of them of prefixes.

    So most topics of a request are denied to the client, and each needs a look at each length of a prefix.
    """
    return [
        AclBinding(
            ResourceType.TOPIC if resource % 4 < GROUPS_FROM else ResourceType.GROUP,
            f"t.{resource}",
            ResourcePatternType.LITERAL if resource % 2 else ResourcePatternType.PREFIXED,
            f"User:{user}",
            "*",
            AclOperation.READ,
            AclPermissionType.ALLOW,
        )
        for resource, user in (divmod(number, USERS) for number in range(count))
    ]


@dataclass(frozen=True, slots=True)
class _Target:
    """The broker under test, and the connection that measures waits."""

    address: str
    metrics: str
    process: psutil.Process
    bystander: Bystander


def _cost(target: _Target, request: HostileRequest, elements: int) -> Cost:
    frame, frames = hostile_frame(request, elements), FRAMES.get(elements, 1)
    process, bystander = target.process, target.bystander
    turns_before = turns_of(target.metrics)
    with connect(target.address, PATIENCE_S) as connection:
        bystander.waits_ms()
        before = sum(process.cpu_times()[:2])
        for _ in range(frames):
            connection.sendall(frame)
            receive(connection)
        cpu_s = sum(process.cpu_times()[:2]) - before
        wait_s = max(bystander.waits_ms(), default=0.0) / 1e3
        turn_s = longest_turn_s(turns_before, turns_of(target.metrics))
        memory_mb = process.memory_info().rss / 1e6
        return Cost(request.name, elements, cpu_s, frames, len(frame), wait_s, turn_s, memory_mb)


def measure(elements: int, acls: int = 0) -> Run:
    """Send each kind of request in each size, and print a line per kind and size.

    Args:
        elements: The largest size.
        acls: The number of ACLs of the broker's authorizer; 0 for a broker without one.
    """
    costs: list[Cost] = []
    with _broker(acls) as (address, metrics, process), Bystander(address, _PROBE) as bystander:
        target = _Target(address, metrics, process, bystander)
        print(HEADER, file=sys.stderr)
        for request in HOSTILE:
            for size in (*SIZES, elements):
                costs.append(_cost(target, request, size))
                print(costs[-1], file=sys.stderr, flush=True)
        memory_mb = process.memory_info().rss / 1e6
    costliest = max((cost for cost in costs if cost.elements == elements), key=lambda cost: cost.cpu_s)
    return Run(
        max(cost.longest_wait_s for cost in costs) * 1e3,
        {
            f"s of CPU, {costliest.name}": costliest.cpu_s,
            "ms of CPU time in one turn": max(cost.turn_s for cost in costs) * 1e3,
            "MB at most": max(cost.memory_mb for cost in costs),
            "MB at the end": memory_mb,
        },
    )


BENCHES = (
    Bench(
        name="hostile",
        question="How long do requests of 100,000 elements keep a broker from serving others?",
        unit="ms",
        target=at_most(20.0),
        measure=measure,
        runs=1,
        sizes={"elements": 100_000},
    ),
    Bench(
        name="hostile-acls",
        question="How long do requests of 100,000 elements keep a broker with ACLs from serving others?",
        unit="ms",
        target=at_most(20.0),
        measure=measure,
        runs=1,
        sizes={"elements": 100_000, "acls": 10_000},
    ),
)
