"""The time for which the SIGKILL of a leader interrupts writes to its partitions."""

from __future__ import annotations

import time
from collections.abc import Iterable

from barnabas.bench.harness.cluster import FAILOVER_SESSION_TIMEOUT_MS, running_cluster
from barnabas.bench.harness.registry import Bench, Run, at_most
from barnabas.cluster.model.ids import TopicPartition
from barnabas.local.observe import Observer
from barnabas.workload.clients import ConfluentProducer
from barnabas.workload.history import Acked, History, Op, Sent
from barnabas.workload.workload import Workload

TOPIC = "failover"
PARTITIONS = 60
RATE = 3_000.0
"""Records per second, so that each partition gets one every 20 ms."""


def measure() -> Run:
    """Kill a broker that leads a third of the partitions, under load."""
    session = {"zookeeper.session.timeout.ms": str(FAILOVER_SESSION_TIMEOUT_MS)}
    with running_cluster(session) as cluster:
        observer = Observer(cluster.bootstrap)
        partitions = observer.create_topic(TOPIC, partitions=PARTITIONS)
        history = History(time.monotonic)
        with Workload(ConfluentProducer(cluster.bootstrap), partitions, history, rate=RATE) as workload:
            workload.wait_for_progress(30)
            view = observer.look(TOPIC)
            victim = next(b for b in sorted(view.brokers) if b != view.controller)
            led = tuple(tp for tp, p in view.partitions.items() if p.leader == victim)
            killed = history.now()
            cluster.kill(victim)
            workload.wait_for_progress(30, led)
        return Run(outage_s(history.ops(), killed, led), {"partitions led": float(len(led))})


def outage_s(history: Iterable[Op], since: float, partitions: Iterable[TopicPartition]) -> float:
    """Return the seconds from ``since`` until every partition has acknowledged a record sent later."""
    sent = set()
    first: dict[TopicPartition, float] = {}
    for op in history:
        match op:
            case Sent(time=at, value=value) if at >= since:
                sent.add(value)
            case Acked(time=at, partition=tp, value=value) if value in sent:
                first.setdefault(tp, at)
            case _:
                pass
    return max(first[tp] for tp in partitions) - since


BENCHES = (
    Bench(
        name="broker-failover",
        question="How long from kill -9 of the leader of 20 of 60 partitions to a write on the last of them?",
        unit="s",
        target=at_most(FAILOVER_SESSION_TIMEOUT_MS / 1000 + 1),
        measure=measure,
    ),
)
