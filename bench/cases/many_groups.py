"""Groups of very many members, very many groups and commits, beside a producer that has no part in them."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import psutil
from kio.schema.delete_groups.v1.request import DeleteGroupsRequest
from kio.schema.delete_groups.v1.response import DeleteGroupsResponse
from kio.schema.errors import ErrorCode
from kio.schema.list_groups.v2.request import ListGroupsRequest
from kio.schema.list_groups.v2.response import ListGroupsResponse
from kio.schema.types import GroupId

from barnabas.bench.cases import offset_commits
from barnabas.bench.cases.consumer_groups import USUAL_HEARTBEAT_S, form, generation, settled
from barnabas.bench.cases.hostile import longest_turn_s, turns_of
from barnabas.bench.cases.latency import latencies_ms
from barnabas.bench.clients.group_members import Connection, Member, find_coordinator
from barnabas.bench.clients.producers import PARTITIONS, TOPIC
from barnabas.bench.harness.cluster import broker_pids, running_cluster
from barnabas.bench.harness.registry import Bench, Run, at_most
from barnabas.local.cluster import LocalCluster
from barnabas.local.observe import Observer

RATE = 100
"""The records a second that the producer writes, each in a request of its own."""

COMMITTED = 10
"""The partitions in each commit of a group."""

CONNECTIONS = 20

Work = Callable[[LocalCluster], Awaitable[dict[str, float]]]
"""The function that acts on the groups as clients do; it returns figures by name."""


async def _beside_a_producer(cluster: LocalCluster, work: Work) -> Run:
    observer = Observer(cluster.bootstrap)
    observer.create_topic(TOPIC, partitions=PARTITIONS)
    observer.create_topic("topic", partitions=1)
    observer.create_topic(offset_commits.TOPIC, partitions=COMMITTED)
    loop, seen = asyncio.get_running_loop(), list[float]()
    with ProcessPoolExecutor(1, get_context("spawn")) as producer:

        async def write() -> None:
            while True:
                second = partial(latencies_ms, cluster.bootstrap, 1, {"linger.ms": 0}, RATE)
                # The first record waits for the connection, too.
                seen.extend((await loop.run_in_executor(producer, second))[1:])

        await loop.run_in_executor(producer, latencies_ms, cluster.bootstrap, 2, {}, RATE)
        for member in await form(cluster, "first", 1, USUAL_HEARTBEAT_S):
            await member.die()
        before = {broker.metrics: turns_of(broker.metrics) for broker in cluster.brokers.values()}
        writing = asyncio.create_task(write())
        details = await work(cluster)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
    turns = [longest_turn_s(former, turns_of(address)) for address, former in before.items()]
    p99 = statistics.quantiles(seen, n=100, method="inclusive")[98]
    return Run(max(seen), {"p99 ms": p99, **details, "ms of CPU time in one turn": 1e3 * max(turns)})


async def _one_large_group(size: int, cluster: LocalCluster) -> dict[str, float]:
    """Let all members of one group join, commit and rebalance at the same time; return how long each took."""
    members = [Member("large", USUAL_HEARTBEAT_S) for _ in range(size)]
    began = time.perf_counter()
    await asyncio.gather(*(member.start(cluster.bootstrap) for member in members))
    joined_s = await settled(members, 0) - began
    began = time.perf_counter()
    errors = await asyncio.gather(*(member.commit() for member in members))
    committed_s = time.perf_counter() - began
    former, refused = await generation(members), sum(error is not ErrorCode.none for error in errors)
    began = time.perf_counter()
    await members[0].leave(cluster.bootstrap)
    rebalanced_s = await settled(members[1:], former) - began
    await asyncio.gather(*(member.die() for member in members[1:]))
    return {
        "s until all have assignments": joined_s,
        "s until all have committed": committed_s,
        "requests refused": float(refused),
        "s until all have others after a leave": rebalanced_s,
    }


async def _many_groups(groups: int, cluster: LocalCluster) -> dict[str, float]:
    """Let each group commit `COMMITTED` offsets, list all of them, and delete them in one request."""
    names = [GroupId(f"many-{number}") for number in range(groups)]
    host, port = await find_coordinator(cluster.bootstrap, names[0])
    before_mb, began = _memory_mb(cluster), time.perf_counter()
    await asyncio.gather(*(_commit_each(names[each::CONNECTIONS], host, port) for each in range(CONNECTIONS)))
    committed_s, committed_mb = time.perf_counter() - began, _memory_mb(cluster)
    connection = await Connection.open(host, port)
    listed = await connection.call(ListGroupsRequest(), ListGroupsResponse)
    began = time.perf_counter()
    deleted = await connection.call(DeleteGroupsRequest(groups_names=tuple(names)), DeleteGroupsResponse)
    deleted_s = time.perf_counter() - began
    connection.close()
    return {
        "s until all have committed": committed_s,
        "groups not listed": float(len({*names} - {each.group_id for each in listed.groups})),
        "s until all are deleted": deleted_s,
        "requests refused": float(sum(each.error_code is not ErrorCode.none for each in deleted.results)),
        "KB of memory for a group": (committed_mb - before_mb) * 1e3 / groups,
        "MB at the end": _memory_mb(cluster),
    }


async def _commit_each(groups: list[GroupId], host: str, port: int) -> None:
    """Commit for one group after the other, each over a connection of its own."""
    loop = asyncio.get_running_loop()
    for group in groups:
        once = partial(offset_commits.Consumer, group, COMMITTED)
        transport, consumer = await loop.create_connection(once, host, port)
        consumer.stop()
        await consumer.ended
        transport.close()


def _memory_mb(cluster: LocalCluster) -> float:
    """Return the resident memory of the largest broker, 10^6 bytes."""
    return max(psutil.Process(pid).memory_info().rss for pid in broker_pids(cluster).values()) / 1e6


def measure_large_group(members: int) -> Run:
    """Measure the acknowledged writes of a producer beside one group of many members."""
    with running_cluster() as cluster:
        return asyncio.run(_beside_a_producer(cluster, partial(_one_large_group, members)))


def measure_many_groups(groups: int) -> Run:
    """Measure the acknowledged writes of a producer beside many groups that commit and are deleted."""
    with running_cluster({"offsets.topic.num.partitions": "1"}) as cluster:
        return asyncio.run(_beside_a_producer(cluster, partial(_many_groups, groups)))


_LIMITS = {"ms of CPU time in one turn": at_most(20.0), "requests refused": at_most(0.0)}

BENCHES = (
    Bench(
        name="large-group",
        question="How long does a write wait while 1,000 members of one group join, commit and rebalance?",
        unit="ms",
        target=at_most(100.0),
        measure=measure_large_group,
        runs=1,
        sizes={"members": 1_000},
        limits=_LIMITS,
    ),
    Bench(
        name="many-groups",
        question="How long does a write wait while 20,000 groups commit 200,000 offsets and are deleted?",
        unit="ms",
        target=at_most(100.0),
        measure=measure_many_groups,
        runs=1,
        sizes={"groups": 20_000},
        limits={**_LIMITS, "KB of memory for a group": at_most(20.0), "groups not listed": at_most(0.0)},
    ),
)
