"""The records of a metadata log become the states of partitions and the events of brokers."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from barnabas.analysis.reading.events.entries import Entry
from barnabas.analysis.reading.files.encodings import DamagedError
from barnabas.analysis.reading.metadata.log import read_log
from tests.unit.analysis.reading.metadata.conftest import (
    ID_BYTES,
    TOPIC,
    TOPIC_ID,
    batch,
    change,
    int32s,
    leader_change,
    number,
    partition,
    register,
    registration_change,
    text,
    value,
)

Log = Callable[..., Path]
BEGIN, END, ABORT = value(23, 0, b""), value(24, 0, b""), value(25, 0, b"")


def rows(segment: Path) -> list[dict[str, Any]]:
    return [entry.row for entries in read_log(segment) for entry in entries]


def states(segment: Path) -> list[tuple[Any, ...]]:
    names = ("kind", "leader", "leader_epoch", "version", "isr", "from")
    return [tuple(row.get(name) for name in names) for row in rows(segment)]


def test_a_partition_s_epochs_are_counted(log: Log) -> None:
    segment = log(
        batch(0, TOPIC, partition(1, 1, 2, 3)),
        batch(2, change(t0=int32s(1, 2)), change(t1=number(-1)), change(t0=int32s(2), t1=number(2)))
        + batch(5, change(t2=int32s(1, 2)), change(t1=number(2))),
    )
    assert states(segment) == [
        ("partition-new", None, None, None, None, "NonExistentPartition"),
        ("partition-online", 1, 0, 0, (1, 2, 3), "NewPartition"),
        ("isr-updated", 1, 0, 1, (1, 2), None),
        ("isr-removal", -1, 1, 2, (1, 2), None),
        ("partition-online", 2, 2, 3, (2,), "OfflinePartition"),
        ("isr-updated", 2, 2, 4, (2,), None),
        # A leader is written, so the leader epoch rises, though the leader is the same.
        ("partition-online", 2, 3, 5, (2,), "OnlinePartition"),
    ]
    assert rows(segment)[-1]["replicas"] == (1, 2)
    assert (rows(segment)[0]["topic"], rows(segment)[0]["topic_id"]) == ("a-b", TOPIC_ID)


def test_how_a_leader_was_elected_is_in_the_records(log: Log) -> None:
    elr = int32s(2, 3)
    segment = log(
        batch(
            0,
            TOPIC,
            partition(1, 1, 2),
            change(2, t0=int32s(2), t1=number(2)),
            change(2, t0=int32s(), t1=number(-1), t6=elr),
            change(2, t0=int32s(3), t1=number(3), t6=int32s(2)),
            change(2, t0=int32s(), t1=number(-1), t6=int32s()),
            change(2, t0=int32s(1), t1=number(1), t5=b"\1"),
            change(2, t5=b"\0"),
            change(2, t0=int32s(2), t1=number(2)),
        ),
    )
    found = [(row["leader"], row.get("election")) for row in rows(segment) if "leader" in row]
    assert found == [
        (1, None),  # A new partition's leader is not elected.
        (2, "clean"),
        (-1, None),
        (3, "eligible"),
        (-1, None),
        (1, "unclean"),
        (1, None),
        (2, "unclean"),
    ]


def test_an_entry_has_its_record_its_place_and_its_controller(log: Log) -> None:
    segment = log(leader_change(0, 3, 5) + batch(1, register(2, 40), epoch=5, time_ms=77))
    elected, registered = [entry for entries in read_log(segment) for entry in entries]
    assert elected.row | {"kind": "controller-active", "controller": 3, "controller_epoch": 5} == elected.row
    assert (registered.line, registered.time_us, registered.row["controller"]) == (2, 77_000, 3)
    found = json.loads(registered.raw)
    assert (found["offset"], found["type"], found["brokerEpoch"]) == (1, "RegisterBrokerRecord", 40)


def test_a_stop_is_told_from_a_session_that_timed_out(log: Log) -> None:
    segment = log(
        batch(
            0,
            register(1, 10),
            registration_change(1, 10, t0=b"\xff"),
            registration_change(1, 10, t1=b"\1"),
            registration_change(1, 10, t0=b"\1"),
            registration_change(1, 10, t0=b"\1"),
            register(1, 20, incarnation=ID_BYTES[::-1]),
            register(1, 20, incarnation=ID_BYTES[::-1]),
            value(8, 0, number(1) + (20).to_bytes(8, "big")),
            value(7, 0, number(1) + (20).to_bytes(8, "big")),
            registration_change(1, 20, t2=b"\1"),
            value(1, 0, number(1) + (20).to_bytes(8, "big")),
            registration_change(9, 1, t0=b"\1"),
        )
    )
    assert [(row["kind"].removeprefix("controller-broker-"), row["subject"]) for row in rows(segment)] == [
        ("registered", 1),
        ("unfenced", 1),
        ("stop-asked", 1),
        ("stop-granted", 1),
        ("registered", 1),
        ("unfenced", 1),
        ("fenced", 1),
        ("broker-directory-failed", 1),
        ("unregistered", 1),
        ("fenced", 9),
    ]
    assert rows(segment)[0]["incarnation"] == TOPIC_ID
    assert rows(segment)[7]["error"] == TOPIC_ID


@pytest.mark.parametrize(
    ("after_ms", "epoch", "kind"),
    [(8_900, 1, "stop-granted"), (9_100, 1, "fenced"), (100, 2, "fenced")],
    ids=["soon", "after-a-session", "by-another-controller"],
)
def test_a_fence_long_after_the_request_to_stop_may_be_a_session_that_timed_out(
    log: Log, after_ms: int, epoch: int, kind: str
) -> None:
    unfenced, asked = registration_change(1, 10, t0=b"\xff"), registration_change(1, 10, t1=b"\1")
    segment = log(
        batch(0, register(1, 10), unfenced, asked, epoch=1, time_ms=1_000)
        + batch(3, registration_change(1, 10, t0=b"\1"), epoch=epoch, time_ms=1_000 + after_ms)
    )
    assert rows(segment)[-1]["kind"].removeprefix("controller-broker-") == kind


def test_a_partition_that_a_migration_copies_was_not_elected(log: Log) -> None:
    copied = partition(3, 1, 2, 3, epoch=6)
    assert states(log(batch(0, TOPIC, copied))) == [("metadata-cached", 3, 6, 6, (1, 2, 3), None)]


def test_what_was_aborted_or_never_ended_did_not_happen(log: Log) -> None:
    segment = log(
        batch(0, BEGIN, TOPIC, partition(1, 1), ABORT, END)
        + batch(5, BEGIN, TOPIC, partition(2, 2), END, BEGIN, change(t1=number(3)))
    )
    assert states(segment)[1:] == [("partition-online", 2, 0, 0, (2,), "NewPartition")]


def test_a_deleted_topic_has_no_partitions(log: Log) -> None:
    segment = log(batch(0, TOPIC, partition(1, 1), value(9, 0, ID_BYTES), change(t1=number(2))))
    assert [(row["kind"], row.get("to")) for row in rows(segment)][2:] == [
        ("partition-down", "NonExistentPartition")
    ]


def test_settings_are_those_that_decide_about_writes(log: Log) -> None:
    def config(kind: int, of: str, name: str, setting: bytes) -> bytes:
        return value(4, 0, bytes([kind]) + text(of) + text(name) + setting)

    segment = log(
        batch(
            0,
            config(2, "a", "min.insync.replicas", text("2")),
            config(2, "a", "min.insync.replicas", b"\0"),
            config(4, "3", "min.insync.replicas", text("1")),
            config(4, "", "unclean.leader.election.enable", text("true")),
            config(2, "a", "retention.ms", text("1")),
            config(8, "a", "min.insync.replicas", text("1")),
        )
    )
    assert [(row.get("topic"), row.get("subject"), row["settings"]) for row in rows(segment)] == [
        ("a", None, ("min.insync.replicas=2",)),
        ("a", None, ("min.insync.replicas=",)),
        (None, 3, ("min.insync.replicas=1",)),
        (None, None, ("unclean.leader.election.enable=true",)),
    ]


def test_a_snapshot_is_where_history_goes_on(log: Log) -> None:
    segment = log(batch(300, change(t1=number(-1))) + batch(301, change(t1=number(2))), begin=300)
    with pytest.raises(DamagedError, match=r"^the records at the offsets 0 to 299 are missing"):
        list(read_log(segment))
    snapshot = segment.parent / f"{301:020}-{1:010}.checkpoint"
    snapshot.write_bytes(batch(0, TOPIC, partition(-1, 1, epoch=4)))
    assert states(segment) == [("partition-online", 2, 5, 5, (1,), "OfflinePartition")]


NO_OP = value(20, 0, b"")


def test_records_that_say_only_that_a_controller_works_change_nothing(log: Log) -> None:
    first, second = (TOPIC, partition(1, 1, 2)), (change(t1=number(-1)), change(t1=number(1)))
    idle = b"".join(batch(number, NO_OP, time_ms=number * 500) for number in range(2, 9))
    told = states(log(batch(0, *first) + idle + batch(9, second[0], NO_OP, second[1])))
    assert told == states(log(batch(0, *first, *second), node="busy"))


def parted(segment: Path) -> tuple[list[dict[str, Any]], str]:
    """The rows of a log, and the damage with which it ends."""
    found: list[dict[str, Any]] = []
    with pytest.raises(DamagedError) as damage:
        found.extend(entry.row for entries in read_log(segment) for entry in entries)
    return found, str(damage.value)


@pytest.mark.parametrize("is_within_a_segment", [True, False])
def test_what_follows_missing_records_is_not_what_came_before_them(
    log: Log, *, is_within_a_segment: bool
) -> None:
    other = bytes(range(1, 17))
    before = batch(
        0, TOPIC, partition(1, 1, 2), change(t1=number(-1)), register(1, 3),
        registration_change(1, 3, t1=b"\1"), BEGIN, partition(2, 2),
    )  # fmt: skip
    after = batch(
        100, END, change(t1=number(2)), value(2, 0, text("b") + other), register(1, 90, incarnation=other),
        partition(2, 2, epoch=7),
    )  # fmt: skip
    told, damage = parted(log(before + after) if is_within_a_segment else log(before, after))
    assert damage == (
        "the records at the offsets 7 to 99 are missing; of what was known before them nothing is taken for "
        "granted after them"
    )
    assert [(row["kind"], row.get("leader_epoch"), row.get("error")) for row in told[-2:]] == [
        ("controller-broker-registered", None, None),
        ("metadata-cached", 7, None),
    ]
    assert [row["kind"] for row in told[:-2]] == [
        "partition-new", "partition-online", "isr-removal", "controller-broker-registered",
        "controller-broker-stop-asked", "controller-records-missing",
    ]  # fmt: skip
    assert told[-3]["duration_ms"] == 0


def test_missing_records_have_an_entry_of_their_own(log: Log) -> None:
    segment = log(batch(0, TOPIC, time_ms=1_000) + batch(9, TOPIC, time_ms=4_500))
    (missing,) = next(read_log(segment))
    assert missing == Entry(
        4_500_000,
        2,
        "the records at the offsets 1 to 8 are missing",
        {
            "understood": True, "role": "controller", "kind": "controller-records-missing",
            "duration_ms": 3_500,
        },
    )  # fmt: skip


def test_of_the_first_records_that_are_missing_nobody_knows_the_time(log: Log) -> None:
    missing, _ = next(read_log(log(batch(5_000, registration_change(1, 3, t0=b"\1")), begin=5_000)))
    # A row has only what is known: its columns take no None.
    assert missing.row == {"understood": True, "role": "controller", "kind": "controller-records-missing"}


def test_records_that_a_snapshot_has_are_not_missing(log: Log) -> None:
    changes = batch(300, change(t1=number(-1))), batch(310, change(t1=number(2)), change(t1=number(1)))
    segment = log(*changes, begin=300)
    snapshot = segment.parent / f"{311:020}-{1:010}.checkpoint"
    snapshot.write_bytes(batch(0, TOPIC, partition(2, 1, 2, epoch=4)))
    assert states(segment) == [("partition-online", 1, 5, 5, (1, 2), "OnlinePartition")]


def test_what_was_read_before_a_damage_counts(log: Log) -> None:
    segment = log(batch(0, TOPIC, partition(1, 1)) + batch(2, b"\1\2\0\5a"))
    found: list[dict[str, Any]] = []
    with pytest.raises(DamagedError, match=f"{segment.name}: "):
        found.extend(entry.row for entries in read_log(segment) for entry in entries)
    assert [row["kind"] for row in found] == ["partition-new", "partition-online"]


def test_raft_s_other_records_say_nothing(log: Log) -> None:
    assert rows(log(batch(0, b"\0\0", control=3))) == []


SAMPLE = Path(__file__).parents[4] / "data" / "kraft-4.0" / "__cluster_metadata-0" / f"{0:020}.log"


def test_the_log_of_a_real_cluster_says_what_was_done_to_it() -> None:
    """Kafka 4.0.0: broker 2 was killed at 22:52:23.907 and started again at 22:52:44.571.

    Broker 3, then the active controller, got SIGTERM at 22:53:13.133 and was started again at 22:53:21.108.
    The topic was deleted by 22:53:39.203, and all three got SIGTERM at 22:53:42.203.
    """
    found = [
        (f"{datetime.fromtimestamp(entry.time_us / 1e6, UTC):%H:%M:%S}", entry.row)
        for entries in read_log(SAMPLE)
        for entry in entries
    ]
    lives = [
        (time, row["kind"].removeprefix("controller-"), row["subject"])
        for time, row in found
        if "subject" in row
    ]
    assert lives[9:] == [
        ("22:52:32", "broker-fenced", 2),
        ("22:53:01", "broker-registered", 2),
        ("22:53:05", "broker-unfenced", 2),
        ("22:53:13", "broker-stop-asked", 3),
        ("22:53:15", "broker-stop-granted", 3),
        ("22:53:15", "active", 1),
        ("22:53:28", "broker-registered", 3),
        ("22:53:29", "broker-unfenced", 3),
        ("22:53:42", "broker-fenced", 1),
        ("22:53:42", "broker-fenced", 3),
        ("22:53:42", "broker-fenced", 2),
        ("22:53:42", "active", 2),
    ]
    leaders = [
        (time, row["kind"], row["leader"], row["leader_epoch"], row["isr"])
        for time, row in found
        if (row.get("topic"), row.get("partition")) == ("orders", 0) and "leader" in row
    ]
    assert leaders == [
        ("22:52:14", "partition-online", 2, 0, (2, 3, 1)),
        ("22:52:32", "partition-online", 3, 1, (3, 1)),
        ("22:53:05", "isr-updated", 3, 1, (3, 1, 2)),
        ("22:53:13", "partition-online", 2, 2, (1, 2)),
        ("22:53:29", "isr-updated", 2, 2, (1, 2, 3)),
    ]


@pytest.mark.parametrize("cluster", ["abc", None])
def test_the_file_beside_the_log_names_the_cluster(log: Log, cluster: str | None) -> None:
    assert [row.get("cluster_id") for row in rows(log(batch(0, register(1, 0)), cluster=cluster))] == [
        cluster
    ]
