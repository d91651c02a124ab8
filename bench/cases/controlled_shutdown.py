"""The time that the controller takes to move the leaders of a stopping broker.

Three brokers have a replica of every partition and lead a third each. The one that stops is not the
controller's. The clock runs from its ControlledShutdown request to the response.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

from barnabas.bench.harness.registry import Bench, Run, at_most
from barnabas.bench.stubs.cluster import (
    BROKERS,
    DEADLINE_S,
    candidate,
    lay_out,
    layout,
    led_by,
    session,
    stub_brokers,
    with_zookeeper,
)
from barnabas.cluster.model.commands.shutdown import ControlledShutdown, ControlledShutdownResult


def measure(leaders: int) -> Run:
    """Measure the shutdown of a broker that leads ``leaders`` partitions and follows twice as many."""
    return with_zookeeper(partial(_measure, leaders))


async def _measure(leaders: int, zookeeper: str, directory: Path) -> Run:
    leaving = BROKERS[-1]
    topics = layout(len(BROKERS) * leaders)
    await lay_out(zookeeper, topics)
    with stub_brokers(zookeeper):
        async with candidate(zookeeper, directory) as controller:
            await controller.take_over()
            await controller.answers.settle()
            controller.answers.expect()
            async with session(zookeeper) as store:
                registered = (await store.brokers.read([leaving]))[leaving]
            request = ControlledShutdown(leaving, registered.epoch)
            controller.lag.reset()
            began, cpu = time.perf_counter(), time.process_time()
            result = await controller.node.port.submit(request, DEADLINE_S * 1000)
            moved_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
            answered_s = await controller.answers.settle() - began
        left = await led_by(zookeeper, leaving, topics)
    if result != ControlledShutdownResult(()) or left:
        raise RuntimeError(f"broker {leaving} still leads {left} partitions, expected none: {result}")
    return Run(
        moved_s,
        {
            "ms per partition": moved_s * 1000 / leaders,
            "s of CPU": cpu_s,
            "s to the last LeaderAndIsr answered": answered_s,
            **controller.lag.details,
        },
    )


BENCHES = (
    Bench(
        name="controlled-shutdown",
        question="How long until the controller has moved a broker's leaders, state-change.log at INFO?",
        unit="s",
        target=at_most(0.5),
        measure=measure,
        sizes={"leaders": 1_000},
        scales_with="leaders",
    ),
)
