"""Whatever wraps a line, the same line is read."""

from __future__ import annotations

import json
from datetime import UTC
from io import BytesIO
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from barnabas.analysis.reading.blocks import BlockReader, Origin
from barnabas.analysis.reading.files.encodings import decoded
from barnabas.analysis.reading.layouts import begins_entry, unwrap
from barnabas.analysis.reading.times import Clock
from barnabas.analysis.sources import broker_of

MESSAGE = (
    "[Broker id=1] Finished LeaderAndIsr request in 11ms correlationId 3 from controller 2 for 1 partitions"
)
STOCK = f"[2026-11-21 03:12:45,678] ERROR {MESSAGE} (state.change.logger)"
TRACE = "java.lang.X: y\n\tat a.B.c(B.scala:1)"
LOGSTASH = {
    "@timestamp": "2026-11-21T04:12:45.678+01:00", "@version": "1", "level": "ERROR",
    "logger_name": "state.change.logger", "message": MESSAGE, "thread_name": "main",
}  # fmt: skip
LOG4J2 = {
    "instant": {"epochSecond": 1795230765, "nanoOfSecond": 678000000}, "thread": "main", "level": "ERROR",
    "loggerName": "state.change.logger", "message": MESSAGE,
}  # fmt: skip
ECS = {"@timestamp": "2026-11-21T03:12:45.678Z", "log.level": "ERROR", "message": MESSAGE}


def docker(line: str, stream: str = "stdout") -> str:
    return json.dumps({"log": line, "stream": stream, "time": "2026-11-21T03:12:46.1Z"})


def unwrapped(*lines: str, is_utc: bool = True) -> list[str]:
    return unwrap("".join(f"{line}\n" for line in lines).encode(), is_utc=is_utc).data.decode().splitlines()


def test_lines_in_log4j_s_layout_stay_as_they_are() -> None:
    data = f'{STOCK}\n\tat x\n{STOCK} {{"a":1}}\n'.encode()
    assert unwrap(data, is_utc=True).data == data
    assert unwrap(data[:90], is_utc=True).data == data[:90]


@pytest.mark.parametrize(
    "line",
    [
        docker(f"{STOCK}\n"),
        docker(f"\x1b[31m{STOCK}\x1b[0m\n"),
        docker(json.dumps(LOGSTASH) + "\n"),
        json.dumps(LOGSTASH),
        json.dumps(LOG4J2 | {"instant": None, "timeMillis": 1795230765678}),
        json.dumps(LOG4J2),
        json.dumps(ECS | {"log.logger": "state.change.logger"}),
        json.dumps(ECS | {"log": {"logger": "state.change.logger"}}),
        json.dumps({"MESSAGE": STOCK}),
        json.dumps({"MESSAGE": list(STOCK.encode())}),
        f"2026-11-21T03:12:46.123456789Z stdout F {STOCK}",
        STOCK.replace("ERROR", "\x1b[1;31mERROR\x1b[m"),
    ],
)  # fmt: skip
def test_a_wrapped_line_is_the_same_line(line: str) -> None:
    assert unwrapped(line) == [STOCK]
    assert begins_entry(line.encode())


@pytest.mark.parametrize("indent", [1, 2, 4])
def test_a_file_of_spread_objects_is_read_as_their_lines(indent: int) -> None:
    file = BytesIO("\n".join(json.dumps(LOG4J2, indent=indent) for _ in range(2)).encode())
    assert unwrapped(*b"".join(decoded(file, 100)).decode().splitlines()) == [STOCK, STOCK]


def test_what_stands_before_an_object_names_its_writer() -> None:
    assert unwrapped(f"broker-2  | {json.dumps(LOGSTASH)}") == [f"broker-2  | {STOCK}"]
    entry = json.dumps({"MESSAGE": STOCK, "_HOSTNAME": "broker-2", "_SYSTEMD_UNIT": "k.service"})
    assert unwrapped(entry) == [f"broker-2 k.service | {STOCK}"]


def test_pieces_of_a_line_are_joined_and_lines_keep_their_numbers() -> None:
    lines = [docker("x\n"), docker(STOCK[:50]), docker(STOCK[50:] + "\n"), docker("\tat y\n"), docker("torn")]
    found = unwrap("\n".join(lines).encode(), is_utc=True)
    assert found.data.decode().splitlines() == ["x", STOCK, "\tat y", "torn"]
    assert found.line_of is not None
    assert found.line_of.tolist() == [0, 1, 3, 4]
    stamp = "2026-11-21T03:12:46.1Z stdout"
    assert unwrapped(f"{stamp} P {STOCK[:50]}", f"{stamp} F {STOCK[50:]}") == [STOCK]


@pytest.mark.parametrize(
    "more",
    [
        {"stack_trace": f"{TRACE}\r\n"},
        {"exception": {"stacktrace": TRACE}},
        {"thrown": {"extendedStackTrace": TRACE}},
        {
            "thrown": {
                "name": "java.lang.X",
                "message": "y",
                "extendedStackTrace": [{"class": "a.B", "method": "c", "file": "B.scala", "line": 1}, 3],
            }
        },
    ],
)
def test_a_trace_stands_below_its_line(more: dict[str, Any]) -> None:
    assert unwrapped(json.dumps(LOG4J2 | more)) == [STOCK, *TRACE.split("\n")]


def test_a_message_of_several_lines_has_its_logger_on_the_first() -> None:
    record = {"@timestamp": "2026-11-21T03:12:45.678", "level": "info", "message": "values: \n\ta = 1\n"}
    assert unwrapped(json.dumps(record), is_utc=False) == [
        "[2026-11-21 03:12:45,678] INFO values:",
        "\ta = 1",
    ]


def test_a_time_in_utc_stays_one_where_the_brokers_clocks_are_not() -> None:
    assert unwrapped(json.dumps(LOGSTASH), is_utc=False) == [STOCK.replace("678]", "678Z]")]


@pytest.mark.parametrize(
    "line",
    [
        '{"level":"INFO","message":"x","@timestamp":"soon"}',
        '{"level":"INFO","message":"x","instant":{"epochSecond":1e300}}',
        '{"level":"INFO","message":"x","timeMillis":"x"}',
        '{"level":"INFO","message":"x"}',
        '{"level":"INFO"}',
        '{"a":' * 5000 + "1" + "}" * 5000,
        '{"broken":}',
        '{"MESSAGE":null}',
    ],
)
def test_other_objects_stay_as_they_are(line: str) -> None:
    assert unwrapped(line) == [line]


def test_half_a_character_is_no_error() -> None:
    assert unwrapped('{"log":"x\\ud800\\n"}') == ["x?"]


def test_rows_have_the_lines_of_the_file() -> None:
    record = LOGSTASH | {"stack_trace": TRACE}
    data = f"{json.dumps(record)}\n{json.dumps(LOGSTASH)}\n".encode()
    for zone in (UTC, ZoneInfo("Europe/Berlin")):
        typed = BlockReader(Clock(zone), broker_of).read(data, Origin("file:/a", 0, 5))
        rows = typed.rows.to_pylist()
        assert [(row["line"], row["kind"], row["trace"]) for row in rows] == [
            (5, "leader-and-isr-finished", TRACE),
            (6, "leader-and-isr-finished", None),
        ]
        assert {row["time"].isoformat() for row in rows} == {"2026-11-21T03:12:45.678000"}
        assert typed.lines == 2
