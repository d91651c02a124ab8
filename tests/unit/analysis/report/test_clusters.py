"""Logs of several clusters at once, which are told apart by the files that name them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from barnabas.analysis.report.as_text import summary
from barnabas.analysis.report.document import Document, Row, clusters_of


def log_of(place: str, cluster: str | None, first: int, last: int) -> Row:
    """A row of ``read_logs`` with times in minutes."""
    begin, end = (datetime(2026, 11, 21, tzinfo=UTC) + timedelta(minutes=each) for each in (first, last))
    return {"source": f"file:///logs/{place}/server.log", "cluster": cluster, "first": begin, "last": end}


EAST, WEST = log_of("east/1", "A", 0, 60), log_of("west/1", "B", 20, 90)


@pytest.mark.parametrize(
    ("files", "clusters", "at_once"),
    [
        ([EAST, WEST], ["A", "B"], True),
        ([WEST, log_of("east/2", "A", 85, 99), EAST], ["A", "B"], True),
        ([EAST, log_of("east/2", "A", 0, 60)], [], False),
        # One cluster after the other, by clocks that may differ, and on other hosts.
        ([EAST, log_of("west/1", "B", 59, 90)], ["A", "B"], False),
        ([log_of("west/1", "B", 61, 90), EAST], ["A", "B"], False),
        # A cluster that was made on the hosts of the other; another host came later.
        ([EAST, log_of("east/1", "B", 59, 90)], [], False),
        ([EAST, log_of("east/1", "B", 61, 90), log_of("east/2", "B", 61, 90)], [], False),
        ([EAST, log_of("east/1", "B", 20, 90)], ["A", "B"], True),
        ([EAST, log_of("west/1", None, 20, 90)], [], False),
    ],
)
def test_clusters_are_told_apart_by_the_times_or_the_folders_of_their_files(
    files: list[Row], clusters: list[str], *, at_once: bool
) -> None:
    found = clusters_of(files)
    assert [row["cluster"] for row in found] == clusters
    assert any(row["at_once"] for row in found) == at_once


NAMED = "A (east/1/server.log), B (west/1/server.log)"


@pytest.mark.parametrize(
    ("files", "begin"),
    [
        ([EAST, WEST], f"2 clusters at once, {NAMED}"),
        ([EAST, log_of("west/1", "B", 61, 90)], f"2 clusters, {NAMED}"),
    ],
)
def test_several_clusters_are_named_before_all_else(document: Document, files: list[Row], begin: str) -> None:
    several = replace(document, clusters=clusters_of(files))
    first, *others = summary(several)
    assert first == (
        f"These logs are of {begin}: what follows takes their brokers with the same id for one; "
        "analyze the logs of each cluster alone."
    )
    assert not any(line.startswith("Clocks differ") for line in others)
    assert any(line.startswith("Clocks differ") for line in summary(document))
