"""Lines and records, in plain Python."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from analysis.grammar import RECORD_SEPARATOR, read_entry, read_record

SAMPLES = sorted((Path(__file__).parents[2] / "data" / "state-change").glob("*.log"))
ONLINE = (
    "[2026-11-21 03:12:45,678] INFO [Controller id=1 epoch=3] Changed partition a-b-0 from NewPartition to "
    "OnlinePartition with state LeaderAndIsr(leader=2, leaderEpoch=4, isr=List(2, 1), zkVersion=7) "
    "(state.change.logger)"
)
FAILED = (
    "[2026-11-21 03:12:45,678] ERROR [Controller id=1 epoch=3] Controller 1 epoch 3 failed to change state "
    "for "
    "partition t-0 from OfflinePartition to OnlinePartition (state.change.logger)"
)
TRACE = "kafka.common.StateChangeFailedException: no replica\n\tat kafka.controller.X\n\t... 3 more"


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_real_files_are_understood_line_by_line(sample: Path) -> None:
    text = sample.read_bytes()
    rows = [row for record in text.split(RECORD_SEPARATOR.encode()) for row in read_record(record)]
    assert len(rows) == len(text.splitlines())
    assert [row["raw"] for row in rows if not row["understood"]] == []
    assert b"\n".join(row["raw"].encode() for row in rows) == text.rstrip()


def test_a_line_gives_its_columns() -> None:
    assert read_entry(ONLINE) == {
        "time": datetime(2026, 11, 21, 3, 12, 45, 678000),  # noqa: DTZ001
        "level": "INFO",
        "raw": ONLINE,
        "trace": None,
        "understood": True,
        "kind": "partition-online",
        "releases": "1.1+",
        "role": "controller",
        "broker": 1,
        "controller": 1,
        "controller_epoch": 3,
        "topic": "a-b",
        "partition": 0,
        "from": "NewPartition",
        "to": "OnlinePartition",
        "leader": 2,
        "leader_epoch": 4,
        "isr": (2, 1),
        "version": 7,
    }


def test_a_broker_s_line_names_the_controller_that_asked() -> None:
    row = read_entry(
        "[2026-11-21 03:12:45,678] TRACE [Broker id=0] Received LeaderAndIsr request "
        "LeaderAndIsrPartitionState("
        "topicName='test2', partitionIndex=5, controllerEpoch=5, leader=0, leaderEpoch=0, isr=[0], "
        "zkVersion=0, "
        "replicas=[0], addingReplicas=[], removingReplicas=[], isNew=false) correlation id 1 from "
        "controller 9 epoch 7 "
        "(state.change.logger)"
    )
    assert (row["role"], row["broker"], row["controller"], row["controller_epoch"]) == ("broker", 0, 9, 7)
    assert (row["topic"], row["partition"], row["correlation_id"]) == ("test2", 5, 1)
    assert (row["state_controller_epoch"], row["replicas"]) == (5, (0,))


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("front", [ONLINE[:0], "\0" * 889], ids=["plain", "nul"])
def test_a_trace_belongs_to_its_line(front: str, ending: str) -> None:
    text = front + f"{FAILED}\n{TRACE}\n".replace("\n", ending)
    (row,) = read_record(text.encode())
    assert row["understood"]
    assert row["trace"] == TRACE


def test_a_record_without_its_bracket_is_whole_again() -> None:
    assert read_record(ONLINE[1:].encode())[0]["raw"] == ONLINE


@pytest.mark.parametrize("between", ["\n", "\r\n\0\0", "\0\0\0"])
def test_a_line_that_nul_bytes_hid_from_the_scan_is_found(between: str) -> None:
    rows = read_record(f"{FAILED}{between}{ONLINE}\n".encode())
    assert [row["kind"] for row in rows] == ["partition-change-failed", "partition-online"]


@pytest.mark.parametrize(
    "text",
    [
        "\tat kafka.Kafka.main(Kafka.scala)",
        "[2026-11-21 03:12:45,678] INFO [Broker id=1] torn off here",
        "[2026-11-21 03:12:45,678] INFO starting (kafka.server.KafkaServer)",
    ],
)
def test_what_is_no_entry_is_kept(text: str) -> None:
    assert read_record(text.encode()) == [{"raw": text, "understood": False}]


def test_a_line_that_no_rule_knows_is_timed_and_kept() -> None:
    row = read_entry(ONLINE.replace("Changed partition", "Danced around"))
    assert (row["understood"], row["kind"], row["controller_epoch"]) == (False, None, 3)


def test_bytes_that_are_no_utf_8_do_not_stop_anything() -> None:
    (row,) = read_record(ONLINE.replace("Changed", "Danced").encode().replace(b"Danced", b"\xff\xfe"))
    assert not row["understood"]
    assert "\N{REPLACEMENT CHARACTER}" in row["raw"]


def test_emptiness_is_no_row() -> None:
    assert read_record(b"\r\n\0") == []
