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
from barnabas.tools.verifiable_producer import Told, due_s, write_messages

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


def written(client: Client, *arguments: str) -> tuple[Told, list[dict[str, Any]]]:
    lines: list[dict[str, Any]] = []
    told = Told(lambda line: lines.append(json.loads(line)), lambda: 7)
    flags = verifiable_producer.parser().parse_args([*SERVER, *arguments])
    write_messages(client, flags, told, threading.Event())
    return told, lines


def test_an_acknowledged_record_is_told_with_its_place() -> None:
    client = Client()
    told, lines = written(client, "--max-messages", "2")
    assert [future.value for future in client.futures] == [b"0", b"1"]
    assert (told.tally.sent, told.tally.acked, lines) == (2, 0, [])
    client.futures[1].acked[0](SimpleNamespace(topic="first", partition=2, offset=40))
    assert (told.tally.sent, told.tally.acked) == (2, 1)
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


def test_a_record_given_up_is_told_with_its_error() -> None:
    client = Client()
    told, lines = written(client, "--max-messages", "1", "--value-prefix", "5")
    client.futures[0].failed[0](errors.KafkaTimeoutError("too late"))
    assert told.tally.acked == 0
    (line,) = lines
    assert (line["name"], line["value"], line["exception"]) == (
        "producer_send_error",
        "5.0",
        "KafkaTimeoutError",
    )
    assert "too late" in line["message"]


def test_a_record_that_the_client_does_not_take_is_told_and_the_next_is_tried() -> None:
    told, lines = written(Client(refusal=errors.KafkaTimeoutError("no metadata")), "--max-messages", "3")
    assert told.tally.sent == 3
    assert [line["value"] for line in lines] == ["0", "1", "2"]


def test_nothing_is_sent_once_it_is_told_to_stop() -> None:
    client, stop = Client(), threading.Event()
    stop.set()
    flags = verifiable_producer.parser().parse_args(SERVER)
    write_messages(client, flags, Told(lambda _: None, lambda: 0), stop)
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


def test_what_is_no_address_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert verifiable_producer.main(["--bootstrap-server", "localhost:9xx", "--topic", "first"]) == 1
    assert capsys.readouterr().err.startswith("--bootstrap-server has 'localhost:9xx', expected host:port")


def test_a_topic_that_cannot_be_is_told_as_an_error() -> None:
    client = Client(refusal=ValueError("Topic name is illegal"))
    _, lines = written(client, "--max-messages", "1")
    assert [(line["name"], line["message"]) for line in lines] == [
        ("producer_send_error", "Topic name is illegal")
    ]
