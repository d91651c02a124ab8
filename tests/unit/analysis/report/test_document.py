"""From answers to plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from datetime import datetime

import pytest
from pyspark.sql import DataFrame

from barnabas.analysis.derived.catalog import DERIVED
from barnabas.analysis.questions.catalog import QUESTIONS
from barnabas.analysis.questions.churn import under_replicated
from barnabas.analysis.report import document as under_test
from barnabas.analysis.report.document import OFFLINE, UNDER_REPLICATED, gather
from barnabas.analysis.runtime.engine import settled
from barnabas.analysis.story.observed import Observed

pytestmark = pytest.mark.usefixtures("here")


def test_all_questions_are_answered(story: Mapping[str, DataFrame]) -> None:
    document = gather(nullcontext(story))
    assert set(document.answers) == {question.name for question in QUESTIONS}
    assert document.lines == story["events"].count()
    assert sum(log["unknown"] for log in document.logs) == 1
    assert document.start is not None
    assert (document.start.minute, document.partitions) == (59, 4)
    assert document.pictured[:2] == [("orders", 3), ("orders", 0)]
    assert [row["leader"] for row in document.leaderships if row["partition"] == 3] == [1, -1, 1]


def test_pictures_show_the_times_that_the_incidents_tell(story: Mapping[str, DataFrame]) -> None:
    document = gather(nullcontext(story))
    own = [row for row in document.stretches if row["partition"] == 3]
    assert [row["what"] for row in own] == [OFFLINE, UNDER_REPLICATED]
    named = {name for row in document.incidents for cost in row["costs"] for name in cost["partitions"]}
    drawn = {f"{row['topic']}-{row['partition']}" for row in document.stretches if row["what"] == OFFLINE}
    assert drawn == named


def test_few_rows_are_shown_and_all_are_counted(
    story: Mapping[str, DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("ROWS", "PICTURED", "DRAWN", "STRETCHES"):
        monkeypatch.setattr(under_test, limit, 1)
    whole = under_test.gather(nullcontext(story))
    assert len(whole.pictured) == len(whole.leaderships) == len(whole.answers["under_replicated"]) == 1
    assert whole.partitions == 4
    assert whole.counts["under_replicated"] == under_replicated(story["isr"]).count() > 1


def test_lines_without_a_time_are_counted_and_there_is_a_last_time(
    story: Mapping[str, DataFrame], read: Callable[..., DataFrame]
) -> None:
    raws = [row["raw"] for row in story["events"].select("raw").collect()]
    timeless = "\n".join(raws).replace("[2026-11-21", "[2026-02-30")
    last = "[2199-12-31 23:59:59,999] INFO [Broker id=1] Danced (state.change.logger)"
    tables = {"events": read(f"{timeless}\n{last}\n")}
    for table in DERIVED:
        tables[table.name] = settled(table.of(tables))
    document = gather(nullcontext(tables))
    assert (document.lines, document.partitions, document.stretches) == (len(raws) + 1, 0, [])
    assert sum(row["lines"] for row in document.answers["brokers"]) == len(raws) + 1
    assert document.start == document.end == datetime.fromisoformat("2199-12-31 23:59:59.999")


def test_the_partitions_that_the_incidents_leave_out_are_counted(story: Mapping[str, DataFrame]) -> None:
    document = gather(nullcontext(story), ["a.log: it is damaged"], seen=Observed(untold=1_200))
    assert document.troubles == [
        "a.log: it is damaged",
        "the partitions' states: the incidents leave out 1,200 partitions that had trouble",
    ]
