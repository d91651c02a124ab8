"""The sixteen ways to get real lines of state-change.log wrong: files whole, from bytes to typed rows.

Counted on 1.5 million lines of Kafka 0.8.0 to 4.1.1 that people committed to public repositories; the values
are changed.
"""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest

from barnabas.analysis.reading.blocks import BlockReader, Origin
from barnabas.analysis.reading.times import Clock
from barnabas.analysis.sources import broker_of

Row = dict[str, Any]
AT = "[2017-01-17 11:00:00,{:03}]"
END = " (state.change.logger)"
CONTROLLER = "[Controller id=1 epoch=3] "


def read(data: str | bytes) -> list[Row]:
    data = data if isinstance(data, bytes) else data.encode()
    rows = BlockReader(Clock(UTC), broker_of).read(data, Origin("file:///a/state-change.log", 0, 1)).rows
    return rows.to_pylist()


def entry(text: str, level: str = "TRACE", number: int = 0) -> str:
    return f"{AT.format(number)} {level} {text}{END}\n"


def understood(text: str, level: str = "TRACE") -> Row:
    """The one row of one line; the same where it is one of many alike, which are read at once."""
    (row,) = read(entry(text, level))
    assert row["understood"], row["raw"]
    many = read(entry(text, level) * 20)
    assert [each | {"line": 1} for each in many] == [row] * 20
    return row


def picked(row: Row, *names: str) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def test_01_log4j_registers_itself_and_nobody_speaks() -> None:
    row = understood(
        "preRegister called. Server=com.sun.jmx.mbeanserver.JmxMBeanServer@66d3c617, "
        "name=log4j:logger=state.change.logger",
        "DEBUG",
    )
    assert picked(row, "kind", "role", "broker") == ("logger-registered", None, None)


def test_02_parentheses_that_do_not_match() -> None:
    row = understood(
        "Broker 2 cached leader info (LeaderAndIsrInfo:(Leader:2,ISR:2,LeaderEpoch:8,ControllerEpoch:9),"
        "ReplicationFactor:1),AllReplicas:2) for partition [rsvps,0] in response to UpdateMetadata request "
        "sent by controller 1 epoch 10 with correlation id 4"
    )
    assert picked(row, "kind", "topic", "leader", "isr", "leader_epoch", "replicas") == (
        "metadata-cached", "rsvps", 2, [2], 8, [2],
    )  # fmt: skip


def test_03_two_epochs_and_two_controllers_in_one_line() -> None:
    row = understood(
        "[Broker id=2] Stopped fetchers as part of become-leader request from controller 3 epoch 4 with "
        "correlation id 7 for partition a-0 (last update controller epoch 2)"
    )
    assert picked(row, "controller", "controller_epoch", "last_controller_epoch") == (3, 4, 2)
    row = understood(
        "Broker 2 received LeaderAndIsr request (LeaderAndIsrInfo:(Leader:1,ISR:1,LeaderEpoch:0,"
        "ControllerEpoch:9),ReplicationFactor:1),AllReplicas:1) correlation id 3 from controller 1 epoch 10 "
        "for partition [a,0]"
    )
    assert picked(row, "controller_epoch", "state_controller_epoch") == (10, 9)


def test_04_a_request_that_is_an_object_s_hash() -> None:
    row = understood(
        "Broker 1 received LeaderAndIsr request org.apache.kafka.common.requests.LeaderAndIsrRequest"
        "$PartitionState@48db407a correlation id 1 from controller 0 epoch 2 for partition [t,0]"
    )
    assert picked(row, "kind", "topic", "leader", "leader_epoch", "controller_epoch") == (
        "leader-and-isr-received", "t", None, None, 2,
    )  # fmt: skip


def test_05_json_that_names_the_partition_again() -> None:
    row = understood(
        "Controller 1 epoch 40 encountered error while electing leader for partition [__consumer_offsets,30] "
        "due to: Preferred replica 1 for partition [__consumer_offsets,30] is either not alive or not in the "
        'isr. Current leader and ISR: [{"leader":2,"leader_epoch":34,"isr":[2]}].',
        "ERROR",
    )
    assert picked(row, "kind", "topic", "partition", "leader", "controller_epoch") == (
        "election-failed", "__consumer_offsets", 30, None, 40,
    )  # fmt: skip
    assert row["error"].endswith('"isr":[2]}].')


def test_06_an_election_won_says_offline_and_a_failed_move_is_no_outage() -> None:
    won = understood("Controller 0 epoch 5 elected leader 2 for Offline partition [t,0]")
    assert picked(won, "kind", "leader") == ("election-won", 2)
    failed = understood(
        "Controller 0 epoch 5 initiated state change for partition [t,0] from OnlinePartition to "
        "OnlinePartition failed",
        "ERROR",
    )
    assert picked(failed, "kind", "from", "to") == (
        "partition-change-failed", "OnlinePartition", "OnlinePartition",
    )  # fmt: skip


def test_07_equal_states_may_be_a_move_or_nothing() -> None:
    moved = understood(
        "Controller 0 epoch 5 changed partition [t,0] from OnlinePartition to OnlinePartition with leader 2"
    )
    assert picked(moved, "kind", "leader") == ("partition-online", 2)
    same = understood(
        f"{CONTROLLER}Changed state of replica 0 for partition t-0 from OnlineReplica to OnlineReplica"
    )
    assert picked(same, "kind", "replica", "leader") == ("replica-change", 0, None)


@pytest.mark.parametrize(
    "text",
    [
        (
            "Leader a-1 with topic id Some(2-3qO3o8RgetP5oocXJFcQ) starts at leader epoch 4 from offset 7 "
            "with partition epoch 9, high watermark 7, ISR [2,1], adding replicas [] and removing "
            "replicas [] . Previous leader None and previous leader epoch was -1."
        ),
        (
            "Leader a-1 starts at leader epoch 4 from offset 7 with high watermark 7 ISR [2,1] "
            "addingReplicas [] removingReplicas []. Previous leader epoch was -1."
        ),
        (
            "Leader a-1 starts at leader epoch 4 from offset 7 with high watermark 7 ISR 2,1 addingReplicas  "
            "removingReplicas  .Previous leader epoch was -1."
        ),
    ],
)
def test_08_blanks_before_and_behind_full_stops(text: str) -> None:
    row = understood(f"[Broker id=2] {text}", "INFO")
    assert picked(row, "kind", "topic", "partition", "leader_epoch", "isr", "previous_leader_epoch") == (
        "leader-starts", "a", 1, 4, [2, 1], -1,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "topic", "partition"),
    [
        ("foo-1744196400-056880284-0", "foo-1744196400-056880284", 0),
        ("test-part-5-rep-5-3", "test-part-5-rep-5", 3),
        ("xxx.xxx.inventory.test.1-0-2", "xxx.xxx.inventory.test.1-0", 2),
        ("75b52d8f-86b7-4000-b5e5-f3439a939925-2", "75b52d8f-86b7-4000-b5e5-f3439a939925", 2),
    ],
)
def test_09_a_topic_ends_at_the_last_hyphen(name: str, topic: str, partition: int) -> None:
    row = understood(
        f"[Broker id=0] Leader {name} with topic id Some(2-3qO3o8RgetP5oocXJFcQ) starts at leader epoch 0 "
        "from offset 0 with partition epoch 0, high watermark 0, ISR [0], adding replicas [] and removing "
        "replicas []. Previous leader epoch was -1.",
        "INFO",
    )
    assert picked(row, "topic", "partition", "topic_id") == (topic, partition, "2-3qO3o8RgetP5oocXJFcQ")


def test_10_no_leader_no_isr_and_a_hyphen_among_brackets() -> None:
    row = understood(
        "Controller 0 epoch 29 sending UpdateMetadata request (Leader:-2,ISR:,LeaderEpoch:0,"
        "ControllerEpoch:29) to broker 1 for partition topic55-1"
    )
    assert picked(row, "topic", "partition", "leader", "isr", "leader_epoch") == ("topic55", 1, -2, [], 0)


@pytest.mark.parametrize(
    ("spelled", "targets"), [("Set(1, 2)", [1, 2]), ("HashSet(0, 1)", [0, 1]), ("Set()", [])]
)
def test_11_brokers_as_scala_prints_them(spelled: str, targets: list[int]) -> None:
    row = understood(
        f"{CONTROLLER}Sending UpdateMetadata request PartitionState(controllerEpoch=3, leader=0, "
        f"leaderEpoch=0, isr=[0], zkVersion=0, replicas=[0]) to brokers {spelled} for partition t-0"
    )
    assert row["targets"] == targets


def test_11_a_response_of_nine_kilobytes_from_a_host_with_hyphens() -> None:
    errors = ",".join("{topic=t,partition=0,error_code=0}" for _ in range(250))
    row = understood(
        f"Controller 0 epoch 5 received response {{error_code=0,partitions=[{errors}]}} for a request sent "
        "to broker kafka-host-1:9092 (id: 7 rack: null)"
    )
    assert picked(row, "kind", "targets", "error_code") == ("response-received", [7], 0)


def test_12_a_trace_that_talks_of_partitions_and_suppresses() -> None:
    trace = (
        "kafka.common.StateChangeFailedException: encountered error while electing leader for partition x-0 "
        "due to: none\n\tat kafka.X.main(X.scala:1)\n\tSuppressed: java.nio.file.AccessDeniedException: "
        "D:\\tmp\\kafka-logs\\t-0.262d-delete -> D:\\tmp\n\t\t... 3 more\nCaused by: java.lang.Y: z"
    )
    failed = f"{CONTROLLER}Controller 1 epoch 3 failed to change state for partition x-0 from Offline"
    online = f"{CONTROLLER}Changed partition x-1 state from OnlinePartition to OfflinePartition"
    rows = read(entry(f"{failed}Partition to OnlinePartition", "ERROR") + trace + "\n" + entry(online))
    assert [row["kind"] for row in rows] == ["partition-change-failed", "partition-down"]
    assert rows[0]["trace"] == trace
    assert rows[0]["time"] == rows[1]["time"]


def test_13_nul_bytes_before_a_header_on_the_same_line() -> None:
    text = entry(
        "[Broker id=0] Handling StopReplica request correlationId 1 from controller 1 for 2 partitions"
    )
    rows = read(text.encode() + b"\0" * 889 + text.encode())
    assert [row["understood"] for row in rows] == [True, True]
    rows = read(text.encode()[:-1] + b"\0" * 889 + text.encode())
    assert [row["understood"] for row in rows] == [True, True]


def test_14_two_kinds_of_line_ends_and_none_at_the_end() -> None:
    text = "[Broker id=0] Handling StopReplica request correlationId 1 from controller 1 for 2 partitions"
    windows, unix = entry(text).replace("\n", "\r\n"), entry(text)
    rows = read((windows + unix) * 20 + unix.rstrip("\n"))
    assert len(rows) == 41
    assert all(row["understood"] and row["raw"].endswith("logger)") for row in rows)


@pytest.mark.parametrize(
    ("level", "reason", "kind"),
    [
        ("WARN", "is not higher than the current leader epoch 3", "leader-and-isr-stale-epoch"),
        ("DEBUG", "matches the current leader epoch", "leader-and-isr-same-epoch"),
        ("INFO", "matches the current leader epoch", "leader-and-isr-same-epoch"),
    ],
)
def test_15_what_a_line_says_does_not_hang_on_its_level(level: str, reason: str, kind: str) -> None:
    row = understood(
        "[Broker id=0] Ignoring LeaderAndIsr request from controller 1 with correlation id 2 epoch 3 for "
        f"partition a-0 since its associated leader epoch 3 {reason}",
        level,
    )
    assert (row["level"], row["kind"]) == (level, kind)


def test_16_text_in_another_language() -> None:
    text = entry(
        "[Broker id=0] Handling StopReplica request correlationId 1 from controller 1 for 2 partitions"
    )
    rows = read(text + "java.net.ConnectException: Połączenie odrzucone\n" + text)
    assert [row["trace"] for row in rows] == ["java.net.ConnectException: Połączenie odrzucone", None]


PREFIXES = (
    "broker-2  | ",
    "broker-2  | 2017-01-17T11:00:00.123456789Z ",
    "logs/broker-2/state-change.log:",
    "logs/broker-2/state-change.log-17-",
    "2017-01-17T11:00:00.123Z stdout F ",
)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_what_others_write_in_front_of_a_line(prefix: str) -> None:
    text = f"{CONTROLLER}Changed partition x-1 state from OnlinePartition to OfflinePartition"
    row, again = read((prefix + entry(text)) * 2)
    assert picked(row, "understood", "kind", "topic", "broker") == (True, "partition-down", "x", 1)
    assert picked(again, "raw", "trace") == (entry(text).rstrip("\n"), None)
