"""The time that a rebalance of consumer groups takes, and the cost of stable groups."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from kio.schema.errors import ErrorCode

from barnabas.bench.cases.hostile import longest_turn_s, turns_of
from barnabas.bench.cases.latency import latencies_ms
from barnabas.bench.clients.group_members import SESSION_S, Member
from barnabas.bench.clients.producers import PARTITIONS, TOPIC
from barnabas.bench.harness.cluster import broker_pids, running_cluster
from barnabas.bench.harness.processes import CpuMeter
from barnabas.bench.harness.registry import Bench, Run, at_most
from barnabas.local.cluster import LocalCluster
from barnabas.local.observe import Observer

DEADLINE_S = 90.0
SHORT_HEARTBEAT_S = 0.05
"""Members learn of a rebalance by a heartbeat; this one is short, since the coordinator is measured."""
USUAL_HEARTBEAT_S = 3.0
"""``heartbeat.interval.ms`` of consumers."""
BYSTANDER_RATE = 100
"""The records a second that a producer outside the group writes, each in a request of its own."""


async def _form(cluster: LocalCluster, group: str, size: int, heartbeat_s: float) -> list[Member]:
    members = [Member(group, heartbeat_s) for _ in range(size)]
    for member in members:
        await member.start(cluster.bootstrap)
    await _settled(members, 0)
    return members


async def _settled(members: Sequence[Member], former: int) -> float:
    """Wait until all members have an assignment of one generation after ``former``; return when that was."""

    async def wait() -> float:
        while True:
            for member in members:
                await member.assigned.wait()
            generations = {member.generation for member in members if member.assigned.is_set()}
            if len(generations) == 1 and min(generations) > former:
                return max(member.assigned_at for member in members)
            await asyncio.sleep(SHORT_HEARTBEAT_S / 10)

    return await asyncio.wait_for(wait(), DEADLINE_S)


async def _rebalance(cluster: LocalCluster) -> Run:
    first, second, third, fourth, fifth = await _form(cluster, "rebalancing", 5, SHORT_HEARTBEAT_S)
    stay = [first, second, third]
    former = await _generation([*stay, fourth, fifth])
    began = time.perf_counter()
    await fourth.leave(cluster.bootstrap)
    after_leave = await _settled([*stay, fifth], former) - began
    former = await _generation([*stay, fifth])
    await fifth.die()
    after_death = await _settled(stay, former) - (fifth.heartbeat_at + SESSION_S)
    for member in stay:
        await member.die()
    return Run(
        max(after_leave, after_death),
        {"s after a leave": after_leave, "s after the end of a dead member's session": after_death},
    )


async def _generation(members: Sequence[Member]) -> int:
    await _settled(members, 0)
    return members[0].generation


def measure_rebalance() -> Run:
    """Measure how three members continue after a fourth leaves and a fifth dies."""
    with running_cluster() as cluster:
        return asyncio.run(_rebalance(cluster))


async def _stable(cluster: LocalCluster, groups: int, members: int, seconds: int) -> Run:
    formed = await asyncio.gather(
        *(_form(cluster, f"stable-{number}", members, USUAL_HEARTBEAT_S) for number in range(groups))
    )
    everyone = [member for group in formed for member in group]
    before = [member.generation for member in everyone]
    meter, began = CpuMeter(broker_pids(cluster)), time.perf_counter()
    await asyncio.sleep(seconds)
    spent, lasted = meter.spent(), time.perf_counter() - began
    moved = sum(member.generation != was for member, was in zip(everyone, before, strict=True))
    for member in everyone:
        await member.die()
    percent = {
        f"% of a core: {name.removeprefix('s of CPU of ')}": 100 * s / lasted for name, s in spent.items()
    }
    return Run(sum(percent.values()), {**percent, "members that rebalanced": float(moved)})


def measure_stable(groups: int, members: int, seconds: int) -> Run:
    """Measure stable groups, whose members send a heartbeat every 3 s and nothing else."""
    with running_cluster() as cluster:
        return asyncio.run(_stable(cluster, groups, members, seconds))


async def _one_large_group(cluster: LocalCluster, size: int) -> dict[str, float]:
    """Let all members of one group join, commit and rebalance at the same time; return how long each took."""
    members = [Member("large", USUAL_HEARTBEAT_S) for _ in range(size)]
    began = time.perf_counter()
    await asyncio.gather(*(member.start(cluster.bootstrap) for member in members))
    joined_s = await _settled(members, 0) - began
    began = time.perf_counter()
    errors = await asyncio.gather(*(member.commit() for member in members))
    committed_s = time.perf_counter() - began
    former, refused = await _generation(members), sum(error is not ErrorCode.none for error in errors)
    began = time.perf_counter()
    await members[0].leave(cluster.bootstrap)
    rebalanced_s = await _settled(members[1:], former) - began
    await asyncio.gather(*(member.die() for member in members[1:]))
    return {
        "s until all have assignments": joined_s,
        "s until all have committed": committed_s,
        "commits refused": float(refused),
        "s until all have others after a leave": rebalanced_s,
    }


async def _beside_a_producer(cluster: LocalCluster, size: int) -> Run:
    Observer(cluster.bootstrap).create_topic(TOPIC, partitions=PARTITIONS)
    Observer(cluster.bootstrap).create_topic("topic", partitions=1)
    loop, seen = asyncio.get_running_loop(), list[float]()
    with ProcessPoolExecutor(1, get_context("spawn")) as producer:

        async def write() -> None:
            while True:
                second = partial(latencies_ms, cluster.bootstrap, 1, {"linger.ms": 0}, BYSTANDER_RATE)
                # The first record waits for the connection, too.
                seen.extend((await loop.run_in_executor(producer, second))[1:])

        await loop.run_in_executor(producer, latencies_ms, cluster.bootstrap, 2, {}, BYSTANDER_RATE)
        for member in await _form(cluster, "first", 1, USUAL_HEARTBEAT_S):
            await member.die()
        before = {broker.metrics: turns_of(broker.metrics) for broker in cluster.brokers.values()}
        writing = asyncio.create_task(write())
        details = await _one_large_group(cluster, size)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
    turns = [longest_turn_s(former, turns_of(address)) for address, former in before.items()]
    details |= {"ms of CPU time in one turn": 1e3 * max(turns)}
    return Run(max(seen), {"p99 ms": statistics.quantiles(seen, n=100, method="inclusive")[98], **details})


def measure_large_group(members: int) -> Run:
    """Measure the acknowledged writes of a producer beside one group of many members."""
    with running_cluster() as cluster:
        return asyncio.run(_beside_a_producer(cluster, members))


BENCHES = (
    Bench(
        name="large-group",
        question="How long does a write wait while 1,000 members of one group join, commit and rebalance?",
        unit="ms",
        target=at_most(100.0),
        measure=measure_large_group,
        runs=1,
        sizes={"members": 1_000},
        limits={"ms of CPU time in one turn": at_most(20.0), "commits refused": at_most(0.0)},
    ),
    Bench(
        name="group-rebalance",
        question="How long after a member left, or a dead one's session ended, do three have assignments?",
        unit="s",
        target=at_most(0.5),
        measure=measure_rebalance,
    ),
    Bench(
        name="stable-groups",
        question="How much CPU of three brokers do the heartbeats of 1,000 members of stable groups take?",
        unit="% of one core",
        target=at_most(20.0),
        measure=measure_stable,
        runs=1,
        sizes={"groups": 100, "members": 10, "seconds": 300},
    ),
)
