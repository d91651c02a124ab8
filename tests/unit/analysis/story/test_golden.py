"""Golden incidents: small logs, and the story that a person wrote from their lines before the code ran.

A file holds the expected sentences, each with its incident's further sentences indented, then the logs, each
after a line ``== NAME``. A ``~`` in an expected sentence stands for any text. The logs take the way of a run
over few lines; some, in which the tables merge lines or count topics' lives, take Spark's too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from barnabas.analysis.derived.catalog import DERIVED
from barnabas.analysis.questions import story
from barnabas.analysis.reading.events.tables import EVENTS, EVENTS_ARROW
from barnabas.analysis.story.incidents import incidents
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.sentences.incidents import details, headline
from barnabas.bench.truth.claims import NEEDED, read
from tests.unit.analysis.conftest import settled_by_spark

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.txt"))


WORDS = 20
"""The most words of a first sentence."""


def parted(text: str) -> tuple[list[str], dict[str, str], int | None]:
    """The expected sentences, the logs by name, and min.insync.replicas if the file gives it."""
    head, *parts = re.split(r"^== ", text, flags=re.MULTILINE)
    logs = dict(part.split("\n", 1) for part in parts)
    told = [line for line in head.splitlines() if line and not line.startswith("#")]
    given = next((line for line in told if line.startswith("min.insync.replicas=")), None)
    return [line for line in told if line != given], logs, None if given is None else int(given.split("=")[1])


def told(observed: Observed) -> list[str]:
    days = {time.date() for times in observed.spoken.values() for time in times}
    day = days.pop() if len(days) == 1 else None
    return [
        line
        for incident in incidents(observed)
        for line in (
            headline(incident).text,
            *(f"  {each.text}" for each in details(incident, day)),
        )
    ]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_the_story_is_the_one_that_a_person_reads_from_the_lines(
    path: Path, observe: Callable[..., Observed]
) -> None:
    expected, logs, min_insync = parted(path.read_text(encoding="utf-8"))
    seen = observe(logs, min_insync)
    assert_told(told(seen), expected)
    for first in map(headline, incidents(seen)):
        assert len(first.text.split()) <= WORDS, first.text
    for sentence in (each for one in incidents(seen) for each in (headline(one), *details(one))):
        assert sentence.lines, f"no line proves: {sentence.text}"
        assert all(line.text for line in sentence.lines)


def test_the_line_of_a_broker_that_refuses_to_lead_proves_the_sentence(
    observe: Callable[..., Observed],
) -> None:
    (path,) = (each for each in GOLDEN if each.stem == "2.8-moved-to-a-broker-whose-log-dir-is-offline")
    _, logs, min_insync = parted(path.read_text(encoding="utf-8"))
    (incident,) = incidents(observe(logs, min_insync))
    first = headline(incident).lines[0]
    assert "Ignoring LeaderAndIsr request from controller 3 with correlation id 4" in first.text
    assert "for partition orders-0" in first.text


def test_the_setting_s_own_line_among_those_of_several_topics_proves_the_sentence(
    observe: Callable[..., Observed],
) -> None:
    (path,) = (each for each in GOLDEN if each.stem == "2.8-min-isr-from-kafka-configs")
    _, logs, min_insync = parted(path.read_text(encoding="utf-8"))
    (incident,) = incidents(observe(logs, min_insync))
    lines = {line for each in details(incident) for line in each.lines}
    (line,) = (line for line in lines if line.source.endswith("topics.txt"))
    assert (line.number, line.text.split()[0]) == (4, "min.insync.replicas=2")


def test_the_setting_s_own_line_among_those_of_a_broker_s_start_proves_the_sentence(
    observe: Callable[..., Observed],
) -> None:
    (path,) = (each for each in GOLDEN if each.stem == "2.8-min-isr-from-the-leaders-start")
    _, logs, min_insync = parted(path.read_text(encoding="utf-8"))
    (incident,) = incidents(observe(logs, min_insync))
    (line,) = (
        each for each in headline(incident).lines if each.source.endswith("server.log") and each.number < 4
    )
    assert (line.number, line.text) == (3, "min.insync.replicas = 2")


COPIED = (
    "0.9-election-failed",
    "1.1-election-failed-then-back",
    "2.8-unclean-election",
)


@pytest.mark.parametrize("name", COPIED)
def test_a_copy_of_a_state_change_log_changes_nothing(name: str, observe: Callable[..., Observed]) -> None:
    (path,) = (each for each in GOLDEN if each.stem == name)
    expected, logs, min_insync = parted(path.read_text(encoding="utf-8"))
    copies = {f"{log}.2024-03-05-10": text for log, text in logs.items() if "state-change.log" in log}
    assert_told(told(observe(logs | copies, min_insync)), expected)


THROUGH_SPARK = (
    "0.9-failover-at-trace",
    "2.8-epochs-fall-without-their-first",
    "2.8-three-partitions-two-endings",
)


@pytest.mark.spark
@pytest.mark.parametrize("name", THROUGH_SPARK)
def test_spark_leads_to_the_same_story(name: str, spark: SparkSession) -> None:
    (path,) = (each for each in GOLDEN if each.stem == name)
    expected, logs, min_insync = parted(path.read_text(encoding="utf-8"))
    rows = pa.Table.from_pylist(read(logs), EVENTS_ARROW)
    tables = {"events": spark.createDataFrame(rows, EVENTS).coalesce(1)}
    for table in DERIVED:
        if table.name in NEEDED:
            tables[table.name] = settled_by_spark(table.of(tables))
    assert_told(told(story.observed(tables, min_insync)), expected)


def assert_told(found: list[str], expected: list[str]) -> None:
    assert len(found) == len(expected), "\n".join(found)
    for line, wanted in zip(found, expected, strict=True):
        pattern = ".*".join(re.escape(part) for part in wanted.split("~"))
        assert re.fullmatch(pattern, line), f"\nexpected {wanted}\nfound    {line}"
