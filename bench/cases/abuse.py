"""The waits of a bystander, and the memory of a broker, while other clients ask for too much.

One broker. A bystander writes a record with acks=all every 5 ms; the 99th percentile of its waits is the
figure, which includes the time that other programs use the core. The details show the broker's memory before,
at most, and after the clients have gone, and the longest turn of its event loop in CPU time, as the bound of
its bucket on the metrics page.
"""

from __future__ import annotations

import multiprocessing
import re
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import repeat
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from barnabas.bench.cases.hostile import longest_turn_s, turns_of
from barnabas.bench.clients.abusers import (
    Bystander,
    batch,
    flood,
    init_producer_id,
    parked_fetch,
    produce,
    produced_by,
)
from barnabas.bench.clients.connection import connect
from barnabas.bench.harness.processes import resident_mb
from barnabas.bench.harness.registry import Bench, Run, at_most
from barnabas.local.cluster import LocalCluster

TOPIC, BYSTANDERS_TOPIC = "abused", "bystander"
PARTITIONS = 10
FIRST_PRODUCER_ID = 1_000_000
CONNECTIONS = 8
SETTLE_S = 10.0
"""Two sweeps for silent connections, seconds."""

TOPICS_AT_ONCE = 20
SPARE_FILES = 500
PATIENCE_S = 60.0
WAIT_MS = 100.0


def _watched(abuse: Callable[..., None], **sizes: int) -> Run:
    """Run one broker, a bystander, and ``abuse`` of the broker's address in a process of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="barnabas-bench-") as directory,
        LocalCluster(Path(directory), brokers=1) as cluster,
    ):
        (broker,) = cluster.brokers.values()
        assert broker.pid is not None
        _create(broker.kafka, {TOPIC: PARTITIONS, BYSTANDERS_TOPIC: 1})
        abuser = multiprocessing.get_context("spawn").Process(
            target=abuse, args=(broker.kafka,), kwargs=sizes
        )
        time.sleep(SETTLE_S)
        before_mb, turns, start = resident_mb(broker.pid), turns_of(broker.metrics), time.perf_counter()
        with Bystander(broker.kafka, produce(BYSTANDERS_TOPIC, batch())) as bystander:
            abuser.start()
            abuser.join()
        seconds = time.perf_counter() - start
        if abuser.exitcode:
            raise RuntimeError(f"the abuse ended with status {abuser.exitcode}")
        time.sleep(SETTLE_S)
        waits_ms = bystander.waits_ms()
        details = {
            "longest wait, ms": max(waits_ms),
            "longest turn, ms": 1000 * longest_turn_s(turns, turns_of(broker.metrics)),
            "s": seconds,
            "MB before": before_mb,
            "MB at most": _most_mb(broker.pid),
            "MB after": resident_mb(broker.pid),
        }
        return Run(statistics.quantiles(waits_ms, n=100, method="inclusive")[-1], details)


def _most_mb(pid: int) -> float:
    """Return the largest resident memory that a process has had, 10^6 bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    (found,) = re.findall(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return int(found) * 1024 / 1e6


def _admin(address: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": address, "log_level": 2})


def _create(address: str, partitions: dict[str, int]) -> None:
    admin = _admin(address)  # its requests end with it
    new = [NewTopic(name, count, 1) for name, count in partitions.items()]
    for created in admin.create_topics(new).values():
        created.result(PATIENCE_S)


def _write_as_many(address: str, ids: int, batches: int) -> None:
    wanted = range(FIRST_PRODUCER_ID, FIRST_PRODUCER_ID + ids)
    flood(address, produced_by(wanted, TOPIC, batches), CONNECTIONS)


def _ask_for_ids(address: str, requests: int) -> None:
    flood(address, repeat(init_producer_id(), requests), CONNECTIONS)


def _park(address: str, connections: int) -> None:
    """Wait for records of ``PARTITIONS`` partitions on each connection, then go."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(connections + SPARE_FILES, hard)), hard))
    opened = [connect(address, PATIENCE_S) for _ in range(connections)]
    for connection in opened:
        connection.sendall(parked_fetch(TOPIC, PARTITIONS))
    time.sleep(SETTLE_S)


def _create_and_delete(address: str, topics: int) -> None:
    admin = _admin(address)
    for begin in range(0, topics, TOPICS_AT_ONCE):
        names = [f"loop-{number}" for number in range(begin, begin + TOPICS_AT_ONCE)]
        _create(address, dict.fromkeys(names, 1))
        for deleted in admin.delete_topics(names).values():
            deleted.result(PATIENCE_S)


def _bench(name: str, question: str, abuse: Callable[..., None], **sizes: int) -> Bench:
    measure = partial(_watched, abuse)
    target = at_most(WAIT_MS)
    return Bench(f"abuse-{name}", question, unit="ms", target=target, measure=measure, runs=1, sizes=sizes)


BENCHES = (
    _bench(
        "producer-ids",
        "How long does a bystander wait while 60,000 producers write a batch each to one partition?",
        _write_as_many,
        ids=60_000,
        batches=1,
    ),
    _bench(
        "init-producer-id",
        "How long does a bystander wait during 200,000 requests for producer ids?",
        _ask_for_ids,
        requests=200_000,
    ),
    _bench(
        "parked-fetches",
        "How long does a bystander wait while 5,000 clients wait for records of ten partitions?",
        _park,
        connections=5_000,
    ),
    _bench(
        "topics",
        "How long does a bystander wait while 1,000 topics are created and deleted, 20 at a time?",
        _create_and_delete,
        topics=1_000,
    ),
)
