"""The time that a new group coordinator takes to load its groups' offsets."""

from __future__ import annotations

import asyncio
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import confluent_kafka.admin

from barnabas.bench.cases.compaction import metrics_of
from barnabas.bench.cases.hostile import longest_turn_s, turns
from barnabas.bench.clients.group_members import find_coordinator
from barnabas.bench.harness.cluster import FAILOVER_SESSION_TIMEOUT_MS
from barnabas.bench.harness.processes import CpuMeter
from barnabas.bench.harness.registry import Bench, Run, at_most
from barnabas.broker.core.group.coordinator_partition import OFFSETS_TOPIC
from barnabas.broker.core.group.records import OffsetAndMetadata, encode_offset_key, encode_offset_value
from barnabas.broker.core.records.batch_builder import BatchBuilder
from barnabas.broker.core.records.record_batch import Codec, stamp
from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.local.cluster import LocalCluster

RECORDS = 1_000_000
PARTITIONS = 100_000
"""The partitions with a committed offset, each of which has ten commits in the log."""

RECORDS_PER_BATCH = 10
PARTITIONS_PER_GROUP = 100
GROUP = "loading"
DEADLINE_S = 180.0
_POLL_S = 0.2
_MAX_BATCH_BYTES = 2**20
_LOG = f"{OFFSETS_TOPIC}-0"
_FINISHED = re.compile(
    rf"Finished loading offsets and group metadata from {_LOG} in (\d+) milliseconds for epoch (\d+)"
)


def log_of_commits(records: int, partitions: int) -> Iterator[bytes]:
    """Yield the batches of a log with `records` commits of `partitions` partitions in turn."""
    now_ms = time.time_ns() // 1_000_000
    for base in range(0, records, RECORDS_PER_BATCH):
        builder = BatchBuilder(now_ms, _MAX_BATCH_BYTES)
        for number in range(base, min(base + RECORDS_PER_BATCH, records)):
            group, partition = divmod(number % partitions, PARTITIONS_PER_GROUP)
            key = encode_offset_key(f"group-{group}", TopicPartition("orders", partition))
            builder.add(key, encode_offset_value(OffsetAndMetadata(Offset(number), 0, "", now_ms)))
        yield b"".join(map(bytes, stamp(builder.build(Codec.UNCOMPRESSED), base, 0)))


def replace_log(directory: Path, records: int, partitions: int) -> None:
    """Write the log into the data directory of a stopped broker, which recovers it when it starts."""
    (directory / ".kafka_cleanshutdown").unlink(missing_ok=True)
    for file in (directory / _LOG).glob("0*"):
        file.unlink()
    with (directory / _LOG / f"{0:020}.log").open("wb") as log:
        log.writelines(log_of_commits(records, partitions))


def loaded_ms(server_log: str) -> dict[int, int]:
    """Return the milliseconds of each load that a broker's log reports, by leader epoch."""
    return {int(epoch): int(taken_ms) for taken_ms, epoch in _FINISHED.findall(server_log)}


def _until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not {what} in {DEADLINE_S:g} s")
        time.sleep(_POLL_S)


def _in_sync(bootstrap: str) -> int:
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
    return len(admin.list_topics(OFFSETS_TOPIC, timeout=DEADLINE_S).topics[OFFSETS_TOPIC].partitions[0].isrs)


def measure(records: int, partitions: int) -> Run:
    """Kill the coordinator of two brokers, and measure how long the other loads.

    Raises:
        TimeoutError: The replicas were not in sync, or the load did not end, in `DEADLINE_S`.
    """
    overrides = {
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "2",
        "log.cleaner.enable": "false",
        "zookeeper.session.timeout.ms": str(FAILOVER_SESSION_TIMEOUT_MS),
        "state.change.log.level": "INFO",
    }
    with (
        tempfile.TemporaryDirectory(prefix="barnabas-bench-") as directory,
        LocalCluster(Path(directory), brokers=2, overrides=overrides) as cluster,
    ):
        asyncio.run(find_coordinator(cluster.bootstrap, GROUP))
        for broker in cluster.brokers.values():
            cluster.terminate(broker.id)
            replace_log(broker.dir / "data", records, partitions)
        for broker in cluster.brokers.values():
            cluster.restart(broker.id, wait=False)
        cluster.wait_ready()
        _until(lambda: _in_sync(cluster.bootstrap) == len(cluster.brokers), "both replicas in sync")
        _, port = asyncio.run(find_coordinator(cluster.bootstrap, GROUP))
        (first,) = (each for each in cluster.brokers.values() if each.kafka.endswith(f":{port}"))
        (second,) = (each for each in cluster.brokers.values() if each is not first)
        log = second.dir / "logs" / "server.log"
        known, before = loaded_ms(log.read_text()).keys(), turns(metrics_of(second))
        meter = CpuMeter({"the broker, its failover included": second.pid or 0})
        cluster.kill(first.id)
        _until(lambda: loaded_ms(log.read_text()).keys() > known, f"{_LOG} loaded")
        spent, after = meter.spent(), turns(metrics_of(second))
        taken_ms = next(ms for epoch, ms in loaded_ms(log.read_text()).items() if epoch not in known)
        turn_ms = longest_turn_s(before, after) * 1000
        return Run(taken_ms / 1000, {**spent, "ms of CPU of the longest turn, at most": turn_ms})


BENCHES = (
    Bench(
        name="offset-loading",
        question="How long does a new coordinator load 1,000,000 commits of 100,000 partitions?",
        unit="s",
        target=at_most(5.0),
        measure=measure,
        sizes={"records": RECORDS, "partitions": PARTITIONS},
    ),
)
