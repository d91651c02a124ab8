"""kafka-verifiable-consumer.sh: its lines; integration/test_tools.py has a cluster."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools import verifiable_consumer
from barnabas.tools.verifiable_consumer import (
    OPTIONS,
    Consumed,
    VerifiableConsumer,
    commit_event,
    consumer_properties,
    line_of,
    main,
    polled,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
BASE = ["--bootstrap-server", "h:1", "--topic", "t", "--group-id", "g"]


def record(partition: int, offset: int) -> Consumed:
    return Consumed(None, f"v{offset}", "t", partition, offset)


def test_a_poll_is_summed_up_by_partition() -> None:
    found = polled([record(1, 5), record(0, 2), record(1, 6)], None, verbose=False)
    assert (found.offsets, found.taken) == ({T1: 7, T0: 3}, 3)
    assert [line_of(event, 9) for event in found.events] == [
        (
            '{"timestamp":9,"name":"records_consumed","count":3,"partitions":[{"topic":"t","partition":1,"count":2,'
            '"minOffset":5,"maxOffset":6},{"topic":"t","partition":0,"count":1,"minOffset":2,"maxOffset":2}]}'
        )
    ]


def test_records_beyond_the_limit_are_neither_summed_up_nor_committed() -> None:
    found = polled([record(1, 5), record(1, 6), record(0, 2)], 1, verbose=True)
    assert (found.offsets, found.taken) == ({T1: 6}, 1)
    data, consumed = found.events
    assert line_of(data, 9) == (
        '{"timestamp":9,"name":"record_data","key":null,"value":"v5","topic":"t","partition":1,"offset":5}'
    )
    assert (consumed["count"], len(consumed["partitions"])) == (3, 1)


def test_commits() -> None:
    assert line_of(commit_event({T0: 1}, None), 9) == (
        '{"timestamp":9,"name":"offsets_committed","offsets":[{"topic":"t","partition":0,"offset":1}],'
        '"success":true}'
    )
    assert line_of(commit_event({}, "why"), 9).endswith('"offsets":[],"error":"why","success":false}')


def test_properties() -> None:
    found = consumer_properties(OPTIONS.parse([*BASE, "--group-instance-id", "i"]), {"client.id": "c"})
    assert found["partition.assignment.strategy"] == "org.apache.kafka.clients.consumer.RangeAssignor"
    assert (found["group.instance.id"], found["client.id"], found["enable.auto.commit"]) == (
        "i",
        "c",
        "false",
    )
    assert "group.instance.id" not in consumer_properties(OPTIONS.parse(BASE), {})


class Message:
    def __init__(self, offset: int, error: KafkaError | None = None) -> None:
        self._offset, self._error = offset, error

    def error(self) -> KafkaError | None:
        return self._error

    def key(self) -> None:
        return None

    def value(self) -> bytes:
        return b"v"

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset


class Client:
    """A client with these polls, whose commits end in these errors."""

    def __init__(self, polls: list[list[Message]], commits: list[int] | None = None) -> None:
        self._polls, self._commits = polls, commits or []

    def subscribe(self, topics: list[str], on_assign: Any, on_revoke: Any) -> None:
        self._revoked = on_revoke
        on_assign(self, [T0])

    def consume(self, most: int, wait_s: float) -> list[Message]:
        return self._polls.pop(0)

    def commit(self, offsets: list[Any], asynchronous: bool) -> list[Any]:
        if self._commits:
            raise KafkaException(KafkaError(self._commits.pop(0)))
        return offsets

    def close(self) -> None:
        self._revoked(self, [T0])


def events(
    capsys: pytest.CaptureFixture[str], client: Client, *arguments: str
) -> tuple[list[dict[str, Any]], str]:
    VerifiableConsumer(client, OPTIONS.parse([*BASE, *arguments])).run()  # type: ignore[arg-type]
    printed = capsys.readouterr()
    return [json.loads(line) for line in printed.out.splitlines()], printed.err


def test_a_run_from_start_to_end(capsys: pytest.CaptureFixture[str]) -> None:
    passing = Message(0, KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
    client = Client([[passing], [Message(0)], [Message(1), Message(2)]], [KafkaError.REBALANCE_IN_PROGRESS])
    found, err = events(capsys, client, "--max-messages", "2")
    assert [event["name"] for event in found] == [
        "startup_complete",
        "partitions_assigned",
        "records_consumed",
        "offsets_committed",
        "records_consumed",
        "offsets_committed",
        "partitions_revoked",
        "shutdown_complete",
    ]
    assert found[1]["partitions"] == [{"topic": "t", "partition": 0}]
    assert (found[3]["success"], found[3]["error"]) == (
        False,
        "Broker: Group rebalance in progress",
    )
    assert (found[5]["success"], found[5]["offsets"][0]["offset"]) == (True, 2)
    assert err == ""


def test_a_fenced_member_ends(capsys: pytest.CaptureFixture[str]) -> None:
    client = Client([[Message(0)]], [KafkaError.FENCED_INSTANCE_ID])
    found, err = events(capsys, client)
    assert [event["name"] for event in found[-2:]] == ["partitions_revoked", "shutdown_complete"]
    assert err.startswith("ERROR: the consumer ends: ")


def test_an_error_while_reading_ends_it(capsys: pytest.CaptureFixture[str]) -> None:
    client = Client([[Message(0, KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))]])
    found, err = events(capsys, client, "--enable-autocommit")
    assert found[-1]["name"] == "shutdown_complete"
    assert "Group authorization failed" in err


def test_a_signal_ends_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(verifiable_consumer.signal, "signal", lambda *_: None)
    tool = VerifiableConsumer(Client([]), OPTIONS.parse(BASE))  # type: ignore[arg-type]
    tool.interrupt(signal.SIGTERM, None)
    tool.run()
    assert tool.signal == signal.SIGTERM
    assert capsys.readouterr().out.count("\n") == 4


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 0),
        (["--topic", "t"], 1),
        (BASE[:4], 1),
        ([*BASE, "--consumer.config", "/none"], 1),
        ([*BASE, "--reset-policy", "sideways"], 1),
    ],
)
def test_command_lines(arguments: list[str], code: int) -> None:
    assert main(arguments) == code
