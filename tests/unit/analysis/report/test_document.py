"""From answers to plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from datetime import datetime

import pytest
from pyspark.sql import DataFrame

from barnabas.analysis.derived.catalog import DERIVED
from barnabas.analysis.questions.availability import OFFLINE, UNDER_REPLICATED
from barnabas.analysis.questions.catalog import QUESTIONS
from barnabas.analysis.questions.churn import under_replicated
from barnabas.analysis.questions.stalls import write_stalls
from barnabas.analysis.report import document as under_test
from barnabas.analysis.report.document import CELLS, gather
from barnabas.analysis.runtime.engine import settled
from barnabas.analysis.story.observed import Observed

pytestmark = pytest.mark.usefixtures("here")


def test_all_questions_are_answered(story: Mapping[str, DataFrame]) -> None:
    document = gather(nullcontext(story))
    assert set(document.answers) == {question.name for question in QUESTIONS}
    assert (document.understood, document.lines - document.understood) == (story["events"].count() - 1, 1)
    assert document.start is not None
    assert (document.start.minute, document.partitions) == (59, 4)
    assert document.pictured[:2] == [("orders", 3), ("orders", 0)]
    assert [row["leader"] for row in document.leaderships if row["partition"] == 3] == [1, -1, 1]
    assert [row["what"] for row in document.stalls if row["partition"] == 3] == [UNDER_REPLICATED, OFFLINE]
    cells = document.strips[OFFLINE]["orders"]
    assert (len(cells), max(cells), cells[0], cells[-1]) == (CELLS, 2, 0, 1)


def test_few_rows_are_shown_and_all_are_counted(
    story: Mapping[str, DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("ROWS", "PICTURED", "DRAWN"):
        monkeypatch.setattr(under_test, limit, 1)
    stalls = write_stalls(story["unavailability"], story["isr"])
    pictured, number = under_test._pictured(stalls, story["leaders"])
    assert len(pictured) == len(under_test._drawn(story["leaders"], pictured)) == 1
    assert number == len({(row["topic"], row["partition"]) for row in story["leaders"].collect()}) > 1
    whole = under_test.gather(nullcontext(story))
    assert len(whole.answers["under_replicated"]) == 1
    assert whole.counts["under_replicated"] == under_replicated(story["isr"]).count() > 1


def test_lines_without_a_time_are_not_reported_and_there_is_a_last_time(
    story: Mapping[str, DataFrame], read: Callable[..., DataFrame]
) -> None:
    raws = [row["raw"] for row in story["events"].select("raw").collect()]
    timeless = "\n".join(raws).replace("[2026-11-21", "[2026-02-30")
    last = "[2199-12-31 23:59:59,999] INFO [Broker id=1] Danced (state.change.logger)"
    tables = {"events": read(f"{timeless}\n{last}\n")}
    for table in DERIVED:
        tables[table.name] = settled(table.of(tables))
    document = gather(nullcontext(tables))
    assert (document.lines, document.partitions, document.counts["write_stalls"]) == (len(raws) + 1, 0, 0)
    assert sum(row["lines"] for row in document.answers["brokers"]) == len(raws) + 1
    assert document.start == document.end == datetime.fromisoformat("2199-12-31 23:59:59.999")
    assert document.strips == {OFFLINE: {}, UNDER_REPLICATED: {}}


def test_the_partitions_that_the_incidents_leave_out_are_counted(story: Mapping[str, DataFrame]) -> None:
    document = gather(nullcontext(story), ["a.log: it is damaged"], seen=Observed(untold=1_200))
    assert document.troubles == [
        "a.log: it is damaged",
        "the partitions' states: the incidents leave out 1,200 partitions that had trouble",
    ]
