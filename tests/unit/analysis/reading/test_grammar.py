"""One line alone: its header in all layouts, and the columns of its message."""

from __future__ import annotations

import pytest

from barnabas.analysis.reading.grammar import find_head, layout_of, message_columns

MESSAGE = (
    "[Controller id=1 epoch=3] Changed partition a-b-0 from NewPartition to OnlinePartition with state "
    "LeaderAndIsr(leader=2, leaderEpoch=4, isr=List(2, 1), zkVersion=7)"
)
STOCK = f"[2026-11-21 03:12:45,678] INFO {MESSAGE} (state.change.logger)"


@pytest.mark.parametrize(
    "line",
    [
        STOCK,
        f"broker-1  | {STOCK}",
        f"broker-1  | 2026-11-21T03:12:46.123456789Z {STOCK}",
        f"/logs/broker-1/state-change.log:{STOCK}",
        f"state-change.log-17-{STOCK}",
        f"2026-11-21T03:12:46.123Z stdout F {STOCK}",
        "\0" * 889 + STOCK,
        f"{STOCK}  ",
        f"[2026-11-21 03:12:45,678] INFO [controller-event-thread] {MESSAGE} (state.change.logger)",
        f"[2026-11-21 03:12:45,678] INFO  {MESSAGE} (state.change.logger)",
        f"2026-11-21 03:12:45,678 INFO {MESSAGE} (state.change.logger) [controller-event-thread]",
        f"2026-11-21T03:12:45.678 INFO {MESSAGE} (state.change.logger)",
        f"[2026-11-21 03:12:45,678] [INFO ] [main] [state.change.logger] - {MESSAGE}",
        f"[pod/kafka-0/kafka] 2026-11-21 03:12:45,678 INFO  [main] logger:76 - {MESSAGE}",
        f" {STOCK}",
        f"[2026-11-21 03:12:45,678] 12345 [controller-event-thread] INFO  state.change.logger  - {MESSAGE}",
        f"broker-1  | [2026-11-21 03:12:45,678] 0 [main] INFO state.change.logger - {MESSAGE}",
        f"2026-11-21 03:12:45,678 [main] INFO  state.change.logger - {MESSAGE}",
    ],
)
def test_a_header_is_found_in_every_layout(line: str) -> None:
    head = find_head(line)
    assert head is not None
    assert (head.time, head.level, head.logger) == ("2026-11-21 03:12:45,678", "INFO", "state.change.logger")
    assert line[slice(*head.message)] == MESSAGE
    assert line[head.start :].lstrip("[").startswith("2026-11-21")


def test_what_stands_in_brackets_may_name_the_writer() -> None:
    line = "[2026-11-21 03:12:45,678] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)"
    head = find_head(line)
    assert head is not None
    assert line[slice(*head.message)] == "[KafkaServer id=1] started"


@pytest.mark.parametrize(
    ("line", "time"),
    [
        ("2026-11-21T03:12:45.678Z INFO x (a.B)", "2026-11-21 03:12:45,678Z"),
        ("2026-11-21 03:12:45 INFO  [main] KafkaServer:76 - x", "2026-11-21 03:12:45,000"),
    ],
)
def test_a_time_may_have_a_zone_or_lack_milliseconds(line: str, time: str) -> None:
    head = find_head(line)
    assert head is not None
    assert (head.time, line[slice(*head.message)]) == (time, "x")


def test_a_hyphen_in_a_message_is_no_layout() -> None:
    head = find_head("[2026-11-21 03:12:45,678] INFO [Log partition=t-0] a - b (kafka.log.Log)")
    assert head is not None
    assert head.logger == "kafka.log.Log"


@pytest.mark.parametrize(
    ("line", "layout"),
    [
        ("0 [main] INFO kafka.server.KafkaServer - started", "a level, but no date and time before it"),
        ("2026-11-21 03:12:45,678 started", "a date and time, but no level after it"),
        ('{"msg": "started", "lvl": "INFO"}', "JSON without a time, a level and a message under known names"),
        ("[2026-11-21 03:12:45,678] INFO x (a.B)", "a header, but nothing of a broker that a rule matches"),
        ("hello", "neither a date and time nor a level"),
    ],
)
def test_the_layout_of_a_line_that_is_not_read_is_named(line: str, layout: str) -> None:
    assert layout_of(line) == layout


@pytest.mark.parametrize(
    "line",
    [
        "\tat kafka.Kafka.main(Kafka.scala)",
        "Caused by: x.Y: [2026-11-21 03:12:45,678]",
        "",
        "[2026-11-21] INFO x",
    ],
)
def test_a_line_without_header_belongs_to_the_one_above(line: str) -> None:
    assert find_head(line) is None


def test_a_long_line_without_a_level_is_never_matched(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pattern:
        def search(self, _: str) -> None:
            pytest.fail("the pattern is slow in a long line, and cannot match without a level")

    monkeypatch.setattr("barnabas.analysis.reading.grammar._HEAD", Pattern())
    assert find_head("2026-11-21 03:12:45,678 " * 100_000) is None


def test_a_line_that_is_torn_off_has_no_logger() -> None:
    head = find_head("[2026-11-21 03:12:45,678] WARN [Broker id=1] Ignoring Lead")
    assert head is not None
    assert (head.level, head.logger) == ("WARN", None)


def test_another_s_logger_is_named() -> None:
    head = find_head("[2026-11-21 03:12:45,678] INFO started (kafka.server.KafkaServer)")
    assert head is not None
    assert head.logger == "kafka.server.KafkaServer"


@pytest.mark.parametrize(
    ("message", "columns"),
    [
        (
            MESSAGE,
            {
                "understood": True, "kind": "partition-online", "releases": "1.1+", "role": "controller",
                "broker": 1, "controller": 1, "controller_epoch": 3, "topic": "a-b", "partition": 0,
                "from": "NewPartition", "to": "OnlinePartition", "leader": 2, "leader_epoch": 4,
                "isr": (2, 1), "version": 7,
            },
        ),
        (
            ("[Broker id=0] Received LeaderAndIsr request LeaderAndIsrPartitionState(topicName='t', "
            "partitionIndex=5, controllerEpoch=5, leader=0, leaderEpoch=2, isr=[0], zkVersion=0, "
            "replicas=[0], addingReplicas=[], removingReplicas=[], isNew=false) correlation id 1 from "
            "controller 9 epoch 7"),
            {
                "understood": True, "kind": "leader-and-isr-received", "releases": "2.4+", "role": "broker",
                "api": "LEADER_AND_ISR", "broker": 0, "controller": 9, "controller_epoch": 7,
                "correlation_id": 1, "topic": "t", "partition": 5, "leader": 0, "leader_epoch": 2,
                "isr": (0,), "version": 0, "state_controller_epoch": 5, "replicas": (0,),
            },
        ),
        (
            "[Controller id=1] Mark replicas a-0,b-1 on broker 3 as offline",
            {
                "understood": True, "kind": "replicas-offline", "releases": "1.0+", "role": "controller",
                "broker": 1, "controller": 1, "replica": 3, "partitions": ("a-0", "b-1"),
            },
        ),
        (
            ("[Controller id=1 epoch=3] Received response LeaderAndIsrResponseData(errorCode=0, "
            "partitionErrors=[LeaderAndIsrPartitionError(topicName='t', partitionIndex=0, errorCode=56)]) "
            "for request LEADER_AND_ISR with correlation id 4 sent to broker a:9092 (id: 2 rack: x)"),
            {
                "understood": True, "kind": "response-received", "releases": "1.1+", "role": "controller",
                "api": "LEADER_AND_ISR", "broker": 1, "controller": 1, "controller_epoch": 3,
                "correlation_id": 4, "targets": (2,), "error_code": 56,
            },
        ),
        (
            "[Controller id=1 epoch=3] Danced around partition a-b-0",
            {"understood": False, "role": "controller", "broker": 1, "controller": 1, "controller_epoch": 3},
        ),
    ],
    ids=["online", "received", "offline", "response", "unknown"],
)  # fmt: skip
def test_a_message_gives_its_columns(message: str, columns: dict[str, object]) -> None:
    assert message_columns(message) == columns
