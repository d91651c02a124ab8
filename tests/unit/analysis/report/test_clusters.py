"""Logs of several clusters at once, which are told apart by the files that name them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from barnabas.analysis.report.as_text import summary
from barnabas.analysis.report.document import Document, Row, at_once


def log_of(place: str, cluster: str | None, first: int, last: int) -> Row:
    """A row of ``read_logs`` with times in minutes."""
    begin, end = (datetime(2026, 11, 21, tzinfo=UTC) + timedelta(minutes=each) for each in (first, last))
    return {"source": f"file:///logs/{place}/server.log", "cluster": cluster, "first": begin, "last": end}


EAST, WEST = log_of("east/1", "A", 0, 60), log_of("west/1", "B", 20, 90)


@pytest.mark.parametrize(
    ("files", "clusters"),
    [
        ([EAST, WEST], ["A", "B"]),
        ([WEST, log_of("east/2", "A", 85, 99), EAST], ["A", "B"]),
        ([EAST, log_of("east/2", "A", 0, 60)], []),
        # One cluster after the other, by clocks that may differ.
        ([EAST, log_of("west/1", "B", 59, 90)], []),
        ([EAST, log_of("west/1", "B", 61, 90)], []),
        ([EAST, log_of("west/1", None, 20, 90)], []),
    ],
)
def test_clusters_at_once_have_files_that_overlap(files: list[Row], clusters: list[str]) -> None:
    assert [row["cluster"] for row in at_once(files)] == clusters


def test_several_clusters_are_named_before_all_else(document: Document) -> None:
    several = replace(document, clusters=at_once([EAST, WEST]))
    first, *others = summary(several)
    assert first == (
        "These logs are of 2 clusters at once, A (east/1/server.log), B (west/1/server.log): what follows "
        "takes their brokers with the same id for one; analyze the logs of each cluster alone."
    )
    assert not any(line.startswith("Clocks differ") for line in others)
    assert any(line.startswith("Clocks differ") for line in summary(document))
