"""What processes log about themselves, from 0.8 to 4.x."""

from __future__ import annotations

import json
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from barnabas.analysis.reading.blocks import BlockReader, Origin
from barnabas.analysis.reading.brokers.companions import companion_columns
from barnabas.analysis.reading.times import Clock

SERVER = "kafka.server.KafkaServer"

SAMPLES = Path(__file__).parents[4] / "data" / "broker-lines" / "life.jsonl"
LINES = [json.loads(line) for line in SAMPLES.read_text().splitlines()]


def plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in row.items()}


@pytest.mark.parametrize("line", LINES, ids=lambda line: line["message"][:60])
def test_a_line_about_the_process_itself(line: dict[str, Any]) -> None:
    row = companion_columns(line["message"], line.get("logger", ""))
    assert row is not None
    assert plain(row) | {"role": "broker", "understood": True} | line["columns"] == plain(row)


@pytest.mark.parametrize(
    ("message", "logger"),
    [
        (
            "[ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Starting",
            "kafka.server.ReplicaFetcherThread",
        ),
        ("[ExpirationReaper-1-Produce] Starting", "kafka.server.DelayedOperationPurgatory$Reaper"),
        ("[LogCleaner]: Shutting down", "kafka.log.LogCleaner"),
        ("[SocketServer] Shutdown completed", "kafka.network.SocketServer"),
        ("[ControllerServer id=1] Transition from STARTING to STARTED", "kafka.server.ControllerServer"),
        ("Recovering 0 logs from /d since no clean shutdown file was found", "x"),
        ("Property log.cleaner.enable is overridden to true", "x"),
        ("[t] Error due to", "x"),
        ("Error processing append operation on partition t-0", "x"),
        ("zookeeper state changed (SyncConnected)", "x"),
        ("[LogLoader partition=__cluster_metadata-0, dir=/d] Recovering unflushed segment 0.", "x"),
        ("Started leader election for partition [t,0]", "x"),
    ],
)
def test_similar_lines_are_of_no_kind(message: str, logger: str) -> None:
    assert companion_columns(message, logger) is None


CAUSED = "x.y.Z: outer\n\tat a.B.c(B.java:1)\nCaused by: {}\n\t... 3 more"
NODE_EXISTS = "o.a.zookeeper.KeeperException$NodeExistsException: KeeperErrorCode = NodeExists"
FEW = "The size of the current ISR Set(1, 2) is insufficient to satisfy the min.isr requirement of 3 for"
FEW_OLD = "Number of insync replicas for partition [a-b,3] is [1], below required minimum [2]"
APPEND = "Error processing append operation on partition"
REFUSED = "broker-writes-refused"


@pytest.mark.parametrize(
    ("message", "cause", "columns"),
    [
        (
            "[KafkaServer id=1] Fatal error during KafkaServer startup. Prepare to shutdown",
            NODE_EXISTS,
            {"kind": "broker-start-failed", "error": NODE_EXISTS},
        ),
        (
            "Uncaught exception in thread 'kafka-scheduler-7':",
            "java.lang.OutOfMemoryError: Java heap space",
            {"kind": "broker-thread-died", "error": "java.lang.OutOfMemoryError: Java heap space"},
        ),
        (
            f"[ReplicaManager broker=1] {APPEND} a-b-3",
            f"o.NotEnoughReplicasException: {FEW} partition a-b-3",
            {"kind": REFUSED, "topic": "a-b", "partition": 3, "count": 2, "minimum": 3},
        ),
        (
            f"[Replica Manager on Broker 1]: {APPEND} [a-b,3]",
            f"o.NotEnoughReplicasException: {FEW_OLD}",
            {"kind": REFUSED, "subject": 1, "partition": 3, "count": 1, "minimum": 2},
        ),
    ],
)
def test_the_innermost_cause_says_why(message: str, cause: str, columns: dict[str, Any]) -> None:
    row = companion_columns(message, SERVER, lambda: CAUSED.format(cause))
    assert row is not None
    assert row | columns == row


def test_settings_stand_below_their_line_and_the_writer_is_known_by_its_file() -> None:
    log = (
        "[2026-11-21 03:12:45,678] INFO KafkaConfig values: \n"
        "\tmin.insync.replicas = 2\n\tsasl.jaas.config = secret\n\tunclean.leader.election.enable = false\n"
        " (kafka.server.KafkaConfig)\n"
        "[2026-11-21 03:12:45,700] INFO ProducerConfig values: \n\tacks = all\n (org.x.ProducerConfig)\n"
        "[2026-11-21 03:12:45,800] INFO starting (kafka.server.KafkaServer)\n"
        "[2026-11-21 03:12:45,900] INFO torn\n"
    )
    reader = BlockReader(Clock(UTC), lambda _: None)
    rows = reader.read(log.encode(), Origin("file:///broker-2/server.log", 0, 1, broker=2)).rows.to_pylist()
    assert [(row["kind"], row["subject"], row["settings"], row["understood"]) for row in rows] == [
        ("broker-configured", 2, ["min.insync.replicas=2", "unclean.leader.election.enable=false"], True),
        (None, None, None, None),
        ("broker-starting", 2, None, True),
        (None, None, None, False),
    ]
