"""The time that the controller takes to replace a dead broker as leader.

Three brokers have a replica of every partition and lead a third each. The one that dies is not the
controller's. The clock starts when the watch on ``/brokers/ids`` fires, so the figure does not contain the
session timeout. It stops when the survivors have answered the last LeaderAndIsr, for the partitions that the
dead broker led and for those that it followed.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

from barnabas.bench.harness.registry import Bench, Run, at_most
from barnabas.bench.stubs.cluster import (
    BROKERS,
    candidate,
    lay_out,
    layout,
    led_by,
    stub_brokers,
    with_zookeeper,
)


def measure(leaders: int) -> Run:
    """Measure the death of a broker that leads ``leaders`` partitions and follows twice as many."""
    return with_zookeeper(partial(_measure, leaders))


async def _measure(leaders: int, zookeeper: str, directory: Path) -> Run:
    *survivors, victim = BROKERS
    topics = layout(len(BROKERS) * leaders)
    await lay_out(zookeeper, topics)
    with stub_brokers(zookeeper, survivors), stub_brokers(zookeeper, [victim]) as dying:
        async with candidate(zookeeper, directory) as controller:
            await controller.take_over()
            await controller.answers.settle()
            controller.answers.expect()
            controller.lag.reset()
            dying.close()
            began, cpu = await controller.brokers_changed, time.process_time()
            await controller.catch_up()
            handled_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
            answered_s = await controller.answers.settle() - began
        left = await led_by(zookeeper, victim, topics)
    if left:
        raise RuntimeError(f"the dead broker {victim} still leads {left} partitions, expected none")
    return Run(
        answered_s,
        {
            "ms per partition": answered_s * 1000 / leaders,
            "s of CPU": cpu_s,
            "s until handled": handled_s,
            **controller.lag.details,
        },
    )


BENCHES = (
    Bench(
        name="broker-death",
        question="How long from the watch to the new leaders of a dead broker's partitions, log at INFO?",
        unit="s",
        target=at_most(0.5),
        measure=measure,
        sizes={"leaders": 1_000},
        scales_with="leaders",
    ),
)
