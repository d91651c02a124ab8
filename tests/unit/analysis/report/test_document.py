"""From answers to plain data."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pyspark.sql import DataFrame

from analysis.questions.availability import OFFLINE, UNDER_REPLICATED
from analysis.questions.catalog import QUESTIONS
from analysis.questions.stalls import write_stalls
from analysis.report import document as under_test
from analysis.report.document import CELLS, gather

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def test_all_questions_are_answered(story: Mapping[str, DataFrame]) -> None:
    document = gather(story)
    assert set(document.answers) == {question.name for question in QUESTIONS}
    assert (document.understood, document.lines - document.understood) == (story["events"].count() - 1, 1)
    assert document.start is not None
    assert (document.start.minute, document.partitions) == (59, 4)
    assert document.pictured[:2] == [("orders", 3), ("orders", 0)]
    assert [row["leader"] for row in document.reigns if row["partition"] == 3] == [1, -1, 1]
    assert [row["what"] for row in document.stalls if row["partition"] == 3] == [UNDER_REPLICATED, OFFLINE]
    cells = document.strips[OFFLINE]["orders"]
    assert (len(cells), max(cells), cells[0], cells[-1]) == (CELLS, 2, 0, 1)


def test_few_rows_are_told_and_all_are_counted(
    story: Mapping[str, DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("ROWS", "PICTURED", "DRAWN"):
        monkeypatch.setattr(under_test, limit, 1)
    rows, number = under_test._told(story["isr"])
    assert (len(rows), number) == (1, story["isr"].count())
    pictured = under_test._pictured(write_stalls(story["unavailability"], story["isr"]), story["leaders"])
    assert pictured.count() == len(under_test._drawn(story["leaders"], pictured)) == 1
