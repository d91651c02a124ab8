"""The speed of compaction beside traffic, and its effect on the broker's event loop."""

from __future__ import annotations

import os
import re
import tempfile
import time
import urllib.request
from pathlib import Path

import confluent_kafka
import confluent_kafka.admin
import psutil

from barnabas.bench.cases.hostile import longest_turn_s, turns
from barnabas.bench.harness.registry import Bench, Run, at_least, at_most
from barnabas.local.broker_process import BrokerProcess
from barnabas.local.cluster import LocalCluster

TOPIC = "compacted"
SIZE = 1_000
RECORDS = 300_000
KEYS = 20_000
DEADLINE_S = 180.0
PAUSE_S = 0.01
MEGABYTE = 1.048576
"""Kafka's megabyte, in 10^6 bytes."""

DEDUPE_MB = 128 * MEGABYTE
"""The default of ``log.cleaner.dedupe.buffer.size``, which is the size of the offset map.

The cleaner's whole process is held to it: the keys touch half of the map's pages, and nothing else may grow
with the log.
"""

LONGEST_TURN = "ms of CPU of the longest turn, at most"
MEMORY = "MB of memory of the cleaner"

_PROCESSED = re.compile(r"([\d,.]+) MB of log processed in ([\d,.]+) seconds")
_INDEXED = re.compile(r"Indexed ([\d,.]+) MB")
_LAG_MS = "min.compaction.lag.ms"
_NEVER = str(2**62)


def fill(bootstrap: str) -> None:
    """Write the records, each of which has one of `KEYS` keys.

    Raises:
        TimeoutError: Some had no outcome.
    """
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "log_level": 2})
    value = os.urandom(SIZE)
    for number in range(RECORDS):
        # A prime spreads the keys, so that each segment has nearly all of them.
        key = b"key-%d" % (number * 7919 % KEYS)
        while True:
            try:
                producer.produce(TOPIC, value, key)
                break
            except BufferError:
                producer.poll(0.01)
    left = producer.flush(DEADLINE_S)
    if left:
        raise TimeoutError(f"{left} of {RECORDS} records had no outcome")


def clean_beside_traffic(cluster: LocalCluster, broker: BrokerProcess) -> tuple[str, float, float]:
    """Let the log be compacted while a producer writes, and return the broker's figures.

    Returns:
        The lines of the log cleaner, the most memory of its process in 10^6 bytes, and the median time of a
        produce request in milliseconds.

    Raises:
        TimeoutError: It was not compacted in `DEADLINE_S`.
    """
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": cluster.bootstrap, "linger.ms": 0, "log_level": 2}
    )
    log, process = broker.dir / "logs" / "server.log", psutil.Process(broker.pid)
    most_mb, times_ms, begin = 0.0, [], time.monotonic()
    # The log cleaner logs a cleaning in eight lines and more.
    while (said := log.read_text().partition("Log cleaner thread 0 cleaned log")[2]).count("\n") < 8:
        if time.monotonic() - begin > DEADLINE_S:
            raise TimeoutError(f"the log was not compacted in {DEADLINE_S:g} s")
        for child in process.children():
            try:
                most_mb = max(most_mb, child.memory_info().rss / 1e6)
            except psutil.NoSuchProcess:
                continue
        sent = time.perf_counter()
        producer.produce(TOPIC, b"v", b"k")
        producer.flush(10)
        times_ms.append((time.perf_counter() - sent) * 1000)
        time.sleep(PAUSE_S)
    return said, most_mb, sorted(times_ms)[len(times_ms) // 2]


def metrics_of(broker: BrokerProcess) -> str:
    """Return the broker's metrics page."""
    with urllib.request.urlopen(f"http://{broker.metrics}/metrics", timeout=10) as answer:
        return str(answer.read().decode())


def figures(said: str) -> tuple[float, float]:
    """Return the log cleaner's own figures: 10^6 bytes read per second, in all and for the new log.

    Args:
        said: Its lines, from the summary of a cleaning on.

    Returns:
        How much of the log is processed, and how much is read.

    Raises:
        ValueError: The lines have no such figures.
    """
    processed, indexed = _PROCESSED.search(said), _INDEXED.search(said)
    if processed is None or indexed is None:
        raise ValueError(f"the log cleaner says no figures: {said!r}")
    read, seconds, mapped = (float(each.replace(",", "")) for each in (*processed.groups(), indexed[1]))
    return read * MEGABYTE / seconds, (read + mapped) * MEGABYTE / seconds


def measure() -> Run:
    """Write a log, and compact it beside a producer."""
    overrides = {"log.cleaner.backoff.ms": "100", "state.change.log.level": "INFO"}
    with (
        tempfile.TemporaryDirectory(prefix="barnabas-bench-") as directory,
        LocalCluster(Path(directory), brokers=1, overrides=overrides) as cluster,
    ):
        (broker,) = cluster.brokers.values()
        admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": cluster.bootstrap})
        config = {"cleanup.policy": "compact", "segment.bytes": "50000000", _LAG_MS: _NEVER}
        new = confluent_kafka.admin.NewTopic(TOPIC, 1, 1, config=config)
        admin.create_topics([new])[TOPIC].result(90)
        fill(cluster.bootstrap)
        before = turns(metrics_of(broker))
        resource = confluent_kafka.admin.ConfigResource(
            confluent_kafka.admin.ConfigResource.Type.TOPIC, TOPIC, set_config={**config, _LAG_MS: "0"}
        )
        admin.alter_configs([resource])[resource].result(90)
        said, most_mb, median_ms = clean_beside_traffic(cluster, broker)
        after = turns(metrics_of(broker))
        processed, read = figures(said)
        return Run(
            processed,
            {
                "MB/s read": read,
                LONGEST_TURN: longest_turn_s(before, after) * 1000,
                "ms of a produce beside it, median": median_ms,
                MEMORY: most_mb,
            },
        )


BENCHES = (
    Bench(
        name="compaction",
        question="How much of a log of 1-KB records does the log cleaner process a second beside a producer?",
        unit="MB/s",
        target=at_least(100.0),
        limits={LONGEST_TURN: at_most(20.0), MEMORY: at_most(DEDUPE_MB)},
        measure=measure,
    ),
)
