"""The fields of a message are in its text where they are said to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.analysis.reading.fields import find_fields
from barnabas.analysis.reading.grammar import find_head

SAMPLES = sorted((Path(__file__).parents[3] / "data" / "state-change").glob("*per-kind.log"))
TRANSITION = (
    "[Controller id=1 epoch=3] Changed partition a-b-0 from OfflinePartition to OnlinePartition with state "
    "LeaderAndIsr(leader=2, leaderEpoch=7, isr=List(2, 1), zkVersion=9)"
)


def test_fields_are_found_from_left_to_right_with_their_columns() -> None:
    row, fields = find_fields(TRANSITION)
    assert row == {
        "role": "controller",
        "understood": True,
        "kind": "partition-online",
        "releases": "1.1+",
        "to": "OnlinePartition",
    }
    texts = [TRANSITION[slice(*field.span)] for field in fields]
    assert texts == ["1", "3", "a-b-0", "OfflinePartition", "2", "7", "2, 1", "9"]
    assert [field.read(text) for field, text in zip(fields, texts, strict=True)] == [
        {"broker": 1, "controller": 1},
        {"controller_epoch": 3},
        {"topic": "a-b", "partition": 0},
        {"from": "OfflinePartition"},
        {"leader": 2},
        {"leader_epoch": 7},
        {"isr": (2, 1)},
        {"version": 9},
    ]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_fields_do_not_overlap(sample: Path) -> None:
    for line in sample.read_text().splitlines():
        head = find_head(line)
        if head is None:
            continue
        _, fields = find_fields(line[slice(*head.message)])
        ends = [field.span[1] for field in fields]
        assert all(end <= field.span[0] for end, field in zip(ends, fields[1:], strict=False))


def test_of_a_message_that_no_rule_knows_only_the_speaker_is_found() -> None:
    row, fields = find_fields("[Broker id=7] Danced around t-0")
    assert row == {"role": "broker", "understood": False}
    assert [field.span for field in fields] == [(11, 12)]
