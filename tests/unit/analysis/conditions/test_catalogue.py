"""The catalogue: each entry reads its lines, refuses near misses, and has a headline that can be read.

``tests/data/conditions/signs.log`` has a section for each entry. A line after ``+`` shows the condition; one
after ``-`` does not. Lines without a mark belong to the entry above them.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from barnabas.analysis.conditions.catalogue import CATALOGUE
from barnabas.analysis.conditions.condition import Condition
from barnabas.analysis.conditions.findings import Finding, findings
from barnabas.analysis.conditions.signs import Signs
from barnabas.analysis.derived.catalog import DERIVED
from barnabas.analysis.derived.conditions import conditions
from barnabas.analysis.reading.blocks import BlockReader, Origin
from barnabas.analysis.reading.times import Clock
from barnabas.analysis.runtime.engine import framed, in_this_process, rows_of
from barnabas.analysis.scan import plain
from tests.unit.analysis.conftest import derived
from tests.unit.analysis.local.engines import schema_of_spark

_SECTIONS = re.split(
    r"^== ", Path("tests/data/conditions/signs.log").read_text(encoding="utf-8"), flags=re.MULTILINE
)[1:]
EXAMPLES = {
    name: re.findall(r"^([+-]) (.*?\n)(?=[+-] |\Z)", text, flags=re.MULTILINE | re.DOTALL)
    for name, text in (section.split("\n", 1) for section in _SECTIONS)
}
BY_KEY = {each.key: each for each in CATALOGUE}
TICKETS = Path("tests/data/conditions/tickets.log").read_text(encoding="utf-8").split("=== ")
LINE_BASED = [each for each in CATALOGUE if each.signs or each.kinds]


def read(*logs: str, signs: Signs | None = None) -> pa.Table:
    """The events of logs, each of a file of its own."""
    reader = BlockReader(Clock(UTC), lambda _: None, (signs or Signs(CATALOGUE)).read)
    return pa.Table.from_batches([
        plain(reader.read(log.encode(), Origin(f"file:///log-{number:04}", 0, 1)).rows)
        for number, log in enumerate(logs)
    ])  # fmt: skip


def shown(*logs: str) -> list[list[str]]:
    """The conditions that each log shows."""
    with in_this_process():
        rows = rows_of(conditions(framed(read(*logs))))
    return [
        sorted(row["condition"] for row in rows if row["source"] == f"file:///log-{number:04}")
        for number in range(len(logs))
    ]


def found_in(*logs: str) -> list[Finding]:
    """The findings of logs."""
    with in_this_process():
        return findings(rows_of(conditions(framed(read(*logs)))), CATALOGUE)


def test_keys_are_unique_and_each_line_based_entry_has_examples() -> None:
    assert len(BY_KEY) == len(CATALOGUE)
    assert list(EXAMPLES) == [each.key for each in LINE_BASED]
    assert all({"+", "-"} == {mark for mark, _ in lines} for lines in EXAMPLES.values())


def test_each_line_shows_its_condition_and_no_near_miss_does() -> None:
    cases = [(key, mark, text) for key, lines in EXAMPLES.items() for mark, text in lines]
    for (key, mark, text), found in zip(cases, shown(*(text for *_, text in cases)), strict=True):
        assert (found == [key]) if mark == "+" else (key not in found), (key, mark, text, found)


def test_each_sign_has_a_line() -> None:
    for condition in LINE_BASED:
        lines = [text for mark, text in EXAMPLES[condition.key] if mark == "+"]
        for sign in condition.signs:
            one = Signs([replace(condition, signs=(sign,))])
            assert any(row["condition"] for row in read(*lines, signs=one).to_pylist()), sign


def sample(condition: Condition, names: tuple[str, ...]) -> Finding:
    now = datetime.fromisoformat("2026-11-21T03:12")
    row: dict[str, Any] = {
        "condition": condition.key, "broker": 101, "subject": None, "source": "a", "since": now, "until": now,
        "lines": 1200, "names": names, "named": len(names), "records": None, "silent_ms": None,
        "error": None, "block": 0, "line": 1, "raw": "",
    }  # fmt: skip
    (found,) = findings([row], CATALOGUE)
    return found


@pytest.mark.parametrize("names", [(), ("a-0",), ("a-0", "a-1")])
def test_headlines_are_short_sentences(names: tuple[str, ...]) -> None:
    for condition in CATALOGUE:
        headline = sample(condition, names).headline
        assert len(headline.split()) <= 20, headline
        assert "None" not in headline
        for text in (headline, condition.means, condition.advice):
            assert re.fullmatch(r"[A-Z0-9].*\.", text), text


@pytest.mark.spark
def test_spark_and_this_process_find_the_same(spark: SparkSession) -> None:
    here = derived(framed(read(*(text for lines in EXAMPLES.values() for _, text in lines), *TICKETS)))
    for name in ("conditions", "computed_conditions"):
        table = next(each for each in DERIVED if each.name == name)
        given = {need: here[need].toArrow() for need in table.needs}
        there = table.of({
            need: spark.createDataFrame(rows, schema_of_spark(rows.schema)) for need, rows in given.items()
        })  # fmt: skip
        assert in_order(there.toArrow().to_pylist()) == in_order(rows_of(here[name]))


def in_order(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(str(sorted(row.items())) for row in rows)
