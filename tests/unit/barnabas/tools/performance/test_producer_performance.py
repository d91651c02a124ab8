"""kafka-producer-perf-test.sh: its payloads and properties; integration/test_tools.py has a cluster."""

from __future__ import annotations

import argparse
import random
from itertools import islice
from pathlib import Path

import pytest
from confluent_kafka import KafkaError

from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.performance.producer_performance import OPTIONS, main, payloads, producer_properties, send

BASE = "--topic t --num-records 3 --throughput -1"


def flags(line: str) -> argparse.Namespace:
    return OPTIONS.parse(f"{BASE} {line}".split())


def test_a_payload_of_capital_letters() -> None:
    values = payloads(flags("--record-size 5"), random.Random(0))
    first, second = islice(values, 2)
    assert first is second
    assert (len(first), first.isupper()) == (5, True)


def test_payloads_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "payloads"
    path.write_text("a;bé;;")
    line = f"--payload-file {path} --payload-delimiter ;"
    assert set(islice(payloads(flags(line), random.Random(0)), 50)) == {b"a", "bé".encode()}
    assert capsys.readouterr().out == f"Reading payloads from: {path}\nNumber of messages read: 2\n"
    path.write_text("")
    with pytest.raises(ToolError, match="File does not exist or empty file provided"):
        next(payloads(flags(f"--payload-file {path}"), random.Random(0)))


def test_properties() -> None:
    found = producer_properties({"acks": "0", "linger.ms": "9"}, ["bootstrap.servers=h:1", "acks=all"])
    assert (found["acks"], found["linger.ms"], found["batch.size"]) == ("all", "9", "16384")
    for text in ("bootstrap.servers", "a=b=c", "a="):
        with pytest.raises(ToolError, match="Invalid property: "):
            producer_properties({}, [text])


class Client:
    """A client whose second record fails, and whose queue is full before the third."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self._is_full = True

    def produce(self, topic: str, value: bytes, on_delivery: object) -> None:
        if len(self.sent) == 2 and self._is_full:
            self._is_full = False
            raise BufferError
        self.sent.append(value)
        on_delivery(KafkaError(KafkaError._MSG_TIMED_OUT, "late") if len(self.sent) == 2 else None, None)

    def poll(self, wait_s: float) -> None:
        pass

    def flush(self) -> None:
        pass


def test_a_failed_record_counts_as_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    client = Client()
    total = send(client, flags("--record-size 5"), iter([b"a", b"b", b"c"]))
    assert client.sent == [b"a", b"b", b"c"]
    assert total(10**15).startswith("3 records sent, ")
    assert capsys.readouterr().err == "late\n"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("", 0),
        ("--topic t --record-size 1", 1),
        (f"{BASE} --record-size 1", 1),
        (f"{BASE} --producer-props a=b", 1),
        (f"{BASE} --record-size 1 --producer-props a", 1),
        (f"{BASE} --record-size 1 --producer-props nonsense=1", 1),
        (f"{BASE} --record-size 1 --producer.config /none", 1),
        (f"{BASE} --record-size 1 --producer-props a=b --transactional-id 7", 1),
        (f"{BASE} --record-size 1 --producer-props a=b --transaction-duration-ms 7", 1),
        ("--topic t --num-records 3 --throughput 0 --record-size 1 --producer-props a=b", 1),
    ],
)
def test_command_lines(line: str, code: int) -> None:
    assert main(line.split()) == code
