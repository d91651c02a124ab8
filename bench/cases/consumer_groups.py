"""The time that a rebalance of consumer groups takes, and the cost of stable groups."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from barnabas.bench.clients.group_members import SESSION_S, Member
from barnabas.bench.harness.cluster import broker_pids, running_cluster
from barnabas.bench.harness.processes import CpuMeter
from barnabas.bench.harness.registry import Bench, Run, at_most
from barnabas.local.cluster import LocalCluster

DEADLINE_S = 90.0
SHORT_HEARTBEAT_S = 0.05
"""Members learn of a rebalance by a heartbeat; this one is short, since the coordinator is measured."""
USUAL_HEARTBEAT_S = 3.0
"""``heartbeat.interval.ms`` of consumers."""


async def form(cluster: LocalCluster, group: str, size: int, heartbeat_s: float) -> list[Member]:
    """Form a group, one member after the other, and wait until all have assignments."""
    members = [Member(group, heartbeat_s) for _ in range(size)]
    for member in members:
        await member.start(cluster.bootstrap)
    await settled(members, 0)
    return members


async def settled(members: Sequence[Member], former: int) -> float:
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
    first, second, third, fourth, fifth = await form(cluster, "rebalancing", 5, SHORT_HEARTBEAT_S)
    stay = [first, second, third]
    former = await generation([*stay, fourth, fifth])
    began = time.perf_counter()
    await fourth.leave(cluster.bootstrap)
    after_leave = await settled([*stay, fifth], former) - began
    former = await generation([*stay, fifth])
    await fifth.die()
    after_death = await settled(stay, former) - (fifth.heartbeat_at + SESSION_S)
    for member in stay:
        await member.die()
    return Run(
        max(after_leave, after_death),
        {"s after a leave": after_leave, "s after the end of a dead member's session": after_death},
    )


async def generation(members: Sequence[Member]) -> int:
    """Wait until all members have an assignment of one generation, and return the generation."""
    await settled(members, 0)
    return members[0].generation


def measure_rebalance() -> Run:
    """Measure how three members continue after a fourth leaves and a fifth dies."""
    with running_cluster() as cluster:
        return asyncio.run(_rebalance(cluster))


async def _stable(cluster: LocalCluster, groups: int, members: int, seconds: int) -> Run:
    formed = await asyncio.gather(
        *(form(cluster, f"stable-{number}", members, USUAL_HEARTBEAT_S) for number in range(groups))
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


BENCHES = (
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
