"""kafka-consumer-perf-test.sh: what it counts; integration/test_tools.py has a cluster."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError

from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.performance import consumer_performance
from barnabas.tools.performance.consumer_performance import OPTIONS, Reading, consumer_properties, main

BASE = "--bootstrap-server h:1 --topic t --messages 4"


class Message:
    def __init__(self, key: bytes | None, value: bytes | None, error: KafkaError | None = None) -> None:
        self._content = key, value, error

    def key(self) -> bytes | None:
        return self._content[0]

    def value(self) -> bytes | None:
        return self._content[1]

    def error(self) -> KafkaError | None:
        return self._content[2]


class Client:
    """A client that gets its partition after 700 ms, and then these messages, 300 ms each time."""

    def __init__(self, clock: Clock, *polls: list[Message]) -> None:
        self._clock, self._polls = clock, list(polls)
        self._assigned: Callable[..., None] = lambda *_: None

    def subscribe(self, topics: list[str], on_assign: Any, on_revoke: Any) -> None:
        on_revoke(self, [])
        self._assigned = on_assign

    def consume(self, most: int, wait_s: float) -> list[Message]:
        if self._clock.now_ms == 0:
            self._clock.now_ms = 700
            self._assigned(self, [])
        self._clock.now_ms += 300
        return self._polls.pop(0) if self._polls else []


class Clock:
    now_ms = 0

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(consumer_performance, "now_ms", found)
    return found


def flags(line: str = "") -> Namespace:
    return OPTIONS.parse(f"{BASE} {line}".split())


def test_records_and_their_bytes_are_counted(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    passing = Message(None, None, KafkaError(KafkaError._TRANSPORT))
    client = Client(
        clock, [Message(b"k", b"vv"), passing], [], [Message(None, b"vv"), Message(b"k", None)] * 2
    )
    reading = Reading(client, flags())  # type: ignore[arg-type]
    reading.run()
    assert (reading.count, reading.size, reading.join_ms) == (5, 9, 700)
    assert capsys.readouterr().out == ""


def test_too_few_records_are_a_warning(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    reading = Reading(Client(clock, [Message(b"k", b"v")]), flags("--timeout 1000"))  # type: ignore[arg-type]
    reading.run()
    assert reading.count == 1
    assert capsys.readouterr().out == (
        "WARNING: Exiting before consuming the expected number of messages: timeout "
        "(1000 ms) exceeded. You can "
        "use the --timeout option to increase the timeout.\n"
    )


def test_each_interval_has_a_line_on_demand(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    polls = [[Message(b"k", b"v")], [Message(b"k", b"v")] * 3]
    line = "--show-detailed-stats --reporting-interval 1000 --date-format S"
    Reading(Client(clock, *polls), flags(line)).run()  # type: ignore[arg-type]
    assert capsys.readouterr().out == "0, 0, 0.0000, 0.0000, 1, 1.0000, 700, 300, 0.0000, 3.3333\n"


def test_an_error_that_lasts_ends_it(clock: Clock) -> None:
    failed = Message(None, None, KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))
    with pytest.raises(ToolError, match="Group authorization failed"):
        Reading(Client(clock, [failed]), flags()).run()  # type: ignore[arg-type]


def test_properties() -> None:
    found = consumer_properties(flags("--from-latest"), {"auto.offset.reset": "x", "client.id": "me"}, 7)
    assert (found["group.id"], found["auto.offset.reset"], found["client.id"]) == (
        "perf-consumer-7",
        "latest",
        "me",
    )
    assert consumer_properties(flags("--group g"), {}, 7)["group.id"] == "g"


@pytest.mark.parametrize(
    "line",
    [
        "--topic t --messages 5",
        "--broker-list h:1 --topic t",
        f"{BASE} --reporting-interval 0",
        f"{BASE} --consumer.config /none",
    ],
)
def test_a_command_line_that_is_refused(line: str) -> None:
    assert main(line.split()) == 1
