"""kafka-verifiable-producer.sh: its pace and its lines; a cluster is written to in tests/containers."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka import errors

from barnabas.tools import verifiable_producer
from barnabas.tools.verifiable_producer import Events, due_s, write_messages

SERVER = ["--bootstrap-server", "127.0.0.1:1", "--topic", "first"]


@dataclass
class Future:
    """A record under way."""

    value: bytes
    acked: list[Callable[[Any], None]] = field(default_factory=list)
    failed: list[Callable[[BaseException], None]] = field(default_factory=list)

    def add_callback(self, done: Callable[[Any], None]) -> None:
        self.acked.append(done)

    def add_errback(self, done: Callable[[BaseException], None]) -> None:
        self.failed.append(done)


@dataclass
class Client:
    """Takes records as kafka-python's producer does; the test says what becomes of them."""

    refusal: Exception | None = None
    futures: list[Future] = field(default_factory=list)

    def send(self, topic: str, value: bytes) -> Future:
        assert topic == "first"
        if self.refusal is not None:
            raise self.refusal
        self.futures.append(Future(value))
        return self.futures[-1]


def written(client: Client, *arguments: str) -> tuple[Events, list[dict[str, Any]]]:
    lines: list[dict[str, Any]] = []
    events = Events(lambda line: lines.append(json.loads(line)), lambda: 7)
    flags = verifiable_producer.OPTIONS.parse([*SERVER, *arguments])
    write_messages(client, flags, events, threading.Event())
    return events, lines


def test_an_acknowledged_record_is_printed_with_its_offset() -> None:
    client = Client()
    events, lines = written(client, "--max-messages", "2")
    assert [future.value for future in client.futures] == [b"0", b"1"]
    assert (events.tally.sent, events.tally.acked, lines) == (2, 0, [])
    client.futures[1].acked[0](SimpleNamespace(topic="first", partition=2, offset=40))
    assert (events.tally.sent, events.tally.acked) == (2, 1)
    assert lines == [
        {
            "timestamp": 7,
            "name": "producer_send_success",
            "key": None,
            "value": "1",
            "offset": 40,
            "topic": "first",
            "partition": 2,
        }
    ]


def test_a_failed_record_is_printed_with_its_error() -> None:
    client = Client()
    events, lines = written(client, "--max-messages", "1", "--value-prefix", "5")
    client.futures[0].failed[0](errors.KafkaTimeoutError("too late"))
    assert events.tally.acked == 0
    (line,) = lines
    assert (line["name"], line["value"], line["exception"]) == (
        "producer_send_error",
        "5.0",
        "KafkaTimeoutError",
    )
    assert "too late" in line["message"]


def test_a_record_that_the_client_refuses_is_printed_and_the_next_is_sent() -> None:
    events, lines = written(Client(refusal=errors.KafkaTimeoutError("no metadata")), "--max-messages", "3")
    assert events.tally.sent == 3
    assert [line["value"] for line in lines] == ["0", "1", "2"]


def test_nothing_is_sent_after_the_request_to_stop() -> None:
    client, stop = Client(), threading.Event()
    stop.set()
    flags = verifiable_producer.OPTIONS.parse(SERVER)
    write_messages(client, flags, Events(lambda _: None, lambda: 0), stop)
    assert client.futures == []


@given(st.integers(1, 500), st.integers(1, 1000))
def test_as_many_are_due_in_a_second_as_are_wanted(throughput: int, seconds: int) -> None:
    before = [number for number in range(throughput * 2 + 1) if due_s(number, throughput) < 1]
    assert len(before) == throughput
    assert due_s(throughput * seconds, throughput) == seconds


@pytest.mark.parametrize("throughput", [0, -1])
def test_without_a_throughput_everything_is_due_at_once(throughput: int) -> None:
    assert due_s(10**6, throughput) == 0


def test_servers_that_do_not_answer_are_named(monkeypatch, capsys) -> None:
    def refuse(**settings: Any) -> None:
        raise errors.KafkaTimeoutError("nobody")

    monkeypatch.setattr(verifiable_producer.kafka, "KafkaProducer", refuse)
    monkeypatch.setattr(verifiable_producer.signal, "signal", lambda *_: None)
    assert verifiable_producer.main(SERVER) == 1
    assert "127.0.0.1:1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 0),
        (SERVER[:2], 1),
        ([*SERVER, "--throughput", "fast"], 1),
        ([*SERVER, "--max-messages", "9999999999"], 1),
        ([*SERVER, "--acks", "2"], 1),
        (["--bootstrap-server", "localhost:9xx", "--topic", "first"], 1),
    ],
)
def test_command_lines(arguments, code) -> None:
    assert verifiable_producer.main(arguments) == code


def test_an_invalid_topic_name_is_printed_as_an_error() -> None:
    client = Client(refusal=ValueError("Topic name is illegal"))
    _, lines = written(client, "--max-messages", "1")
    assert [(line["name"], line["message"]) for line in lines] == [
        ("producer_send_error", "Topic name is illegal")
    ]
