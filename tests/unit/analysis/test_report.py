"""The story in words, from rows."""

from __future__ import annotations

import io
import json
from datetime import datetime
from typing import Any

import pytest

from analysis.report import text, write_json


def at(second: int, millisecond: int = 0) -> datetime:
    return datetime(2026, 11, 21, 3, 12, second, millisecond * 1000)  # noqa: DTZ001


COVERAGE = [
    {"kind": "partition-online", "lines": 1234, "first": at(0), "last": at(9), "sample": "…"},
    {"kind": None, "lines": 1, "first": at(1), "last": at(1), "sample": "[strange] line"},
]
CONTROLLERS = [
    {"controller_epoch": 1, "controller": 1, "first": at(0), "last": at(5), "lines": 9, "changes": 12},
    {"controller_epoch": 2, "controller": 3, "first": at(6), "last": at(9), "lines": 9, "changes": 6},
]
ELECTION: dict[str, Any] = {
    "topic": "orders",
    "partition": 3,
    "leader_epoch": 0,
    "time": at(0, 10),
    "controller": 1,
    "controller_epoch": 1,
    "from": "NewPartition",
    "leader": 1,
    "isr": [1, 2],
    "previous_leader": None,
    "reason": "new partition",
    "led_at": at(0, 42),
}
GONE = ELECTION | {
    "leader_epoch": 1,
    "time": at(6),
    "leader": -1,
    "isr": [1],
    "reason": "lost",
    "led_at": None,
}
OLD = ELECTION | {"topic": "old", "leader_epoch": None, "isr": None}
FAILURE = {
    "time": at(7),
    "topic": "t",
    "partition": 0,
    "from": "OfflinePartition",
    "to": "OnlinePartition",
    "cause": None,
}


def test_the_story_in_words() -> None:
    assert list(text(COVERAGE, CONTROLLERS, [ELECTION, GONE, OLD], [FAILURE])) == [
        "Read 1,235 lines, understood 1,234 of them, of 1 kind.",
        "Not understood, and kept in the table: 1, such as: [strange] line",
        "",
        "Controllers",
        "  epoch  broker  first heard              last heard               partition changes",
        "  1      1       2026-11-21 03:12:00.000  2026-11-21 03:12:05.000  12",
        "  2      3       2026-11-21 03:12:06.000  2026-11-21 03:12:09.000  6",
        "",
        "Leader elections",
        "  orders-3",
        (
            "    2026-11-21 03:12:00.010  epoch 0   leader 1    ISR 1,2        new partition               "
            "controller 1 (epoch 1), led after 32 ms"
        ),
        (
            "    2026-11-21 03:12:06.000  epoch 1   no leader   ISR 1          lost                        "
            "controller 1 (epoch 1)"
        ),
        "  old-3",
        (
            "    2026-11-21 03:12:00.010  epoch -   leader 1    ISR ?          new partition               "
            "controller 1 (epoch 1), led after 32 ms"
        ),
        "",
        "Failed changes",
        "  2026-11-21 03:12:07.000  t-0 from OfflinePartition to OnlinePartition: no reason given",
    ]


def test_the_same_in_json() -> None:
    target = io.StringIO()
    write_json(target, {"elections": [ELECTION, GONE], "failures": []})
    told = json.loads(target.getvalue())
    assert told["failures"] == []
    assert [row["time"] for row in told["elections"]] == [
        "2026-11-21T03:12:00.010",
        "2026-11-21T03:12:06.000",
    ]


def test_json_has_no_word_for_anything_else() -> None:
    with pytest.raises(TypeError, match="holds no set"):
        write_json(io.StringIO(), {"odd": [{"a": {1}}]})
