"""The block reader gives the same columns as the grammar gives for each line alone."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from barnabas.analysis.reading.blocks import BlockReader, Origin, clean, read_entries
from barnabas.analysis.reading.brokers.companions import companion_columns
from barnabas.analysis.reading.events.entries import Entry, Row
from barnabas.analysis.reading.events.tables import COLUMNS
from barnabas.analysis.reading.grammar import find_head, message_columns
from barnabas.analysis.reading.times import Clock
from barnabas.cluster.model.statechange import LOGGER

SAMPLES = sorted((Path(__file__).parents[3] / "data" / "state-change").glob("*.log"))
PER_KIND = [sample for sample in SAMPLES if "per-kind" in sample.name]
INTEGERS = {column.name for column in COLUMNS if "int32" in str(column.arrow)}
LONGS = {column.name for column in COLUMNS if "int64" in str(column.arrow)}
OF_LINE = ("time", "level", "logger", "line", "raw", "trace")
KEPT = (*OF_LINE, "role", "broker", "controller", "controller_epoch")


def said_one_by_one(data: bytes) -> list[Row]:
    """The reference: read line by line with the grammar."""
    rows: list[Row] = []
    for number, line in enumerate(clean(data)[0].decode().split("\n")[:-1], 1):
        head = find_head(line.removesuffix("\r"))
        if head is None:
            if rows:
                rows[-1]["raw"] += f"\n{line}"
            elif line.strip():
                rows.append({"raw": line, "understood": False, "line": number})
            continue
        time = datetime.fromisoformat(head.time)
        row: Row = {"time": time, "level": head.level, "line": number, "understood": False}
        row["raw"] = line.removesuffix("\r")[head.start :]
        if head.logger is not None:
            row["logger"] = head.logger
        if head.logger == LOGGER:
            row |= message_columns(line[slice(*head.message)])
        elif head.logger is not None:
            row["understood"] = None
            row |= companion_columns(line[slice(*head.message)]) or {}
        rows.append(row)
    for row in rows:
        whole = row["raw"].rstrip("\r\n\t ") if "\n" in row["raw"] else row["raw"]
        row["raw"] = whole
        below = whole.partition("\n")[2].replace("\r\n", "\n").rstrip()
        if below:
            row["trace"] = below
    return rows


def said_at_once(data: bytes, reader: BlockReader | None = None) -> list[Row]:
    reader = reader or BlockReader(Clock(UTC), lambda _: None)
    rows = reader.read(data, Origin("file:/a.log", 0, 1)).rows.to_pylist()
    for row in rows:
        assert (row.pop("source"), row.pop("block")) == ("file:/a.log", 0)
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def fits(name: str, value: Any) -> bool:
    numbers = value if isinstance(value, tuple) else (value,)
    if name in LONGS:
        return all(abs(number) < (10**12 if name == "duration_ms" else 2**63) for number in numbers)
    return name not in INTEGERS or all(abs(number) < 2**31 for number in numbers)


def comparable(rows: list[Row]) -> list[Row]:
    def plain(row: Row) -> Row:
        if not all(fits(name, value) for name, value in row.items()):
            row = {name: value for name, value in row.items() if name in KEPT and fits(name, value)}
            row["understood"] = False
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in row.items()
            if value is not None
        }

    return [plain(row) for row in rows]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_real_lines_mean_the_same(sample: Path) -> None:
    data = sample.read_bytes()
    assert said_at_once(data) == comparable(said_one_by_one(data))


def varied(line: str, dice: random.Random) -> str:
    """The line with other numbers in some places, and now and then with one letter changed."""

    def another(found: re.Match[str]) -> str:
        return str(dice.randrange(10 ** dice.randint(1, 17))) if dice.random() < 0.4 else found[0]

    line = re.sub(r"\d+", another, line)
    if dice.random() < 0.1:
        cut = dice.randrange(len(line))
        line = line[:cut] + dice.choice(["", " ", "-", "x", ","]) + line[cut + 1 :]
    return line


@pytest.mark.parametrize("sample", PER_KIND, ids=lambda path: path.name)
def test_lines_with_other_values_mean_the_same(sample: Path) -> None:
    dice = random.Random(sample.name)
    lines = []
    for line in sample.read_text().splitlines():
        head, message = line[:26], line[26:]
        lines += [line] * 12 + [head + varied(message, dice) for _ in range(8)]
    dice.shuffle(lines)
    data = "".join(f"{each}\n" for each in lines).encode()
    assert said_at_once(data) == comparable(said_one_by_one(data))


HANDLING = "[Broker id=1] Handling StopReplica request correlationId {} from controller 1 for {} partitions"
DELETED = "[Controller id=1 epoch=3] Changed partition {} state from OfflinePartition to NonExistentPartition"
STARTED = (
    "[Broker id=1] Received LeaderAndIsr request LeaderAndIsrPartitionState(topicName='t', partitionIndex=0, "
    "controllerEpoch=1, leader=1, leaderEpoch=0, isr=[{0}], zkVersion=0, replicas=[{0}], addingReplicas=[], "
    "removingReplicas=[], isNew=true) correlation id 1 from controller 1 epoch 1"
)
MESSAGES = [
    *(HANDLING.format(number, 2) for number in ("7", "-1", "007", "9" * 10, "9" * 19, "9" * 5000, "", "٣")),
    *(DELETED.format(each) for each in ("t-0", "t-é-0", "t-٣", "t-0-1", "[t,0]", "[t, 0]", "[t,\t0]", "t")),
    *(STARTED.format(each) for each in ("1, 2", "1,2", "", "-1, 2", "1,, 2", "1, 2147483648", "9" * 5000)),
    "[Controller id=1] Mark replicas [t,0],[t,1] on broker 1 as offline",
    "[Broker id=1] Połączenie odrzucone",
]
LAYOUTS = [
    "[2026-11-21 03:12:45,678] INFO {} (state.change.logger)",
    "2026-11-21 03:12:45,678 INFO {} (state.change.logger) [wątek-1]",
    "брокер-1 | [2026-11-21 03:12:45,678] INFO {} (state.change.logger)",
    "[2026-11-21 03:12:45,678] INFO[2026-11-21 03:12:46,789] WARN {} (state.change.logger)",
    "[2026-11-21 03:12:45,678] INFO\t{} (state.change.logger)",
    "[2026-11-21 03:12:45,678] ERROR {} ęęęęęęęęęę (kafka.server)",
]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_odd_lines_mean_the_same_by_their_form_and_alone(layout: str) -> None:
    # Of each so many that its form is learned, where it can be, and read by it.
    lines = [layout.format(message) for message in MESSAGES for _ in range(13)]
    random.Random(layout).shuffle(lines)
    data = "".join(f"{line}\n" for line in lines).encode()
    meant = comparable(said_one_by_one(data))
    reader = BlockReader(Clock(UTC), lambda _: None)
    assert said_at_once(data, reader) == meant
    assert said_at_once(data, reader) == meant


@pytest.mark.parametrize("sample", PER_KIND, ids=lambda path: path.name)
def test_what_is_learned_in_one_block_serves_the_next(sample: Path) -> None:
    data = sample.read_bytes() * 13
    reader = BlockReader(Clock(UTC), lambda _: None)
    assert said_at_once(data, reader) == said_at_once(data, reader)


def test_a_line_of_damage_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.analysis.reading.blocks._LINE_MAX", 100)
    head = "[2026-11-21 03:12:45,678] INFO "
    rows = said_at_once(f"{head}{'é' * 200}\n{head}x (state.change.logger)\n".encode())
    assert [len(row["raw"]) for row in rows] == [100 + len("… (131 characters more)"), 54]


def test_an_entry_of_damage_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.analysis.reading.blocks._TEXT_MAX", 100)
    (row,) = said_at_once(b"[2026-11-21 03:12:45,678] INFO x (a.B)\n" + b"\tat x\n" * 100)
    assert row["raw"].endswith("… (538 characters more)")
    assert row["trace"].endswith("… (499 characters more)")


def test_entries_that_are_no_text_become_rows() -> None:
    entries = [
        Entry(1_000_000, 8, '{"a":1}', {"kind": "controller-active", "controller": 3}),
        Entry(2_000_000, 9, "{}", {"kind": "isr-updated", "topic": "t", "isr": (1, 2), "version": 2}),
    ]
    typed = read_entries(entries, Origin("file:///m", 0, 1, broker=2))
    rows = [
        {name: value for name, value in row.items() if value is not None} for row in typed.rows.to_pylist()
    ]
    place = {"source": "file:///m", "block": 0}
    assert (typed.lines, typed.replaced) == (2, 0)
    first, second = (datetime.fromisoformat(f"1970-01-01T00:00:0{second}") for second in (1, 2))
    assert rows == [
        place | {"time": first, "kind": "controller-active", "controller": 3, "raw": '{"a":1}', "line": 8},
        place
        | {"time": second, "kind": "isr-updated", "topic": "t", "isr": [1, 2], "version": 2}
        | {"raw": "{}", "line": 9},
    ]


@pytest.mark.parametrize(("time_us", "version"), [(2**62, 1), (-1000, 1), (2**70, 1), (0, 2**40)])
def test_an_entry_with_a_value_out_of_range_is_not_understood(time_us: int, version: int) -> None:
    row = {"role": "controller", "kind": "isr-updated", "topic": "t", "version": version, "understood": True}
    typed = read_entries([Entry(time_us, 8, "{}", row)], Origin("file:///m", 0, 1))
    (read,) = typed.rows.to_pylist()
    assert (read["understood"], read["kind"], read["topic"]) == (False, None, None)
    assert (read["role"], read["raw"], read["time"] is None) == ("controller", "{}", bool(time_us))


CHANGED = (
    "INFO [Controller id=3 epoch=1] Changed partition o-0 from OfflinePartition to OnlinePartition with "
    "state LeaderAndIsr(leader={0}, leaderEpoch={0}, isr=List({0}, 2), zkVersion=1) (state.change.logger)"
)
STOPPED = "INFO [KafkaServer id=1] shut down completed (kafka.server.KafkaServer)"
SILENT = (
    "INFO Client session timed out, have not heard from server in {}ms for sessionid 0x1 "
    "(org.apache.zookeeper.ClientCnxn)"
)


@pytest.mark.parametrize("times", [1, 5])
@pytest.mark.parametrize(
    "line",
    [
        f"[9999-12-31 23:59:59,999] {STOPPED}",
        f"[0001-01-01 00:00:00,000] {STOPPED}",
        f"[2024-13-05 10:00:00,000] {CHANGED.format(1)}",
        f"[2024-03-05 10:00:00,000] {CHANGED.format(2**63 - 1)}",
        f"[2024-03-05 10:00:00,000] {SILENT.format(2**62)}",
        f"[9999-12-31 23:59:59,999] {CHANGED.format(1)}",
    ],
)
def test_a_line_with_a_value_out_of_range_is_not_understood(line: str, times: int) -> None:
    """Also where so many lines of a form come that they are read at once."""
    good = f"[2024-03-05 10:00:00,000] {CHANGED.format(1)}"
    rows = said_at_once(f"{good}\n{line}\n".encode() * times)
    assert [row["understood"] for row in rows] == [True, False] * times
    for row in rows[1::2]:
        assert row.keys() <= {*KEPT, "understood"}


def test_a_logger_that_stands_alone_on_the_second_line_is_read() -> None:
    """``Stat.toString`` of ZooKeeper ends in a line feed; each start of Kafka 2.2 to 3.9 has such a line."""
    lines = (
        "[2026-11-23 15:24:31,509] INFO Stat of the created znode at /brokers/ids/1 is: 130,130,1,1,1,0,0,7,"
        "204,0,130\n (kafka.zk.KafkaZkClient)\n"
    )
    (row,) = said_at_once(lines.encode())
    assert "understood" not in row
