"""``docs/report-json.md`` describes each field of the JSON, and no other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.analysis import job

DESCRIBED = Path(__file__).parents[4] / "docs" / "report-json.md"
STORIES = Path(__file__).parents[1] / "story" / "golden"

LOGS = (
    "2.8-unclean-election",
    "0.9-failover-at-trace",
    "0.10-kill-9-at-trace",
    "1.1-election-failed-then-back",
)
"""Stories that together have something for each list of the report."""

ODD = """\
[2024-03-05 10:00:00,000] INFO Danced around (state.change.logger)
[2024-03-05 10:00:02,000] INFO Partition [readings,0] on broker 4: Cached zkVersion [0] not equal to that in \
zookeeper, skip updating ISR (kafka.cluster.Partition)
[2024-03-05 10:00:03,000] INFO Partition [readings,0] on broker 5: Shrinking ISR for partition [readings,0] \
from 5,1 to 5 (kafka.cluster.Partition)
[2024-03-05 10:00:04,000] INFO starting (kafka.server.KafkaServer)
"""
"""A line that no rule matches, one that does not name its broker, and one that shows a condition."""

UNSAFE = """\
[2024-03-05 10:00:00,000] INFO [Controller id=3 epoch=5] Changed partition x-0 from NewPartition to \
OnlinePartition with state \
LeaderAndIsr(leader=1, leaderEpoch=0, isr=List(2), zkVersion=0) (state.change.logger)
"""
"""A leader outside its ISR, which the audit finds."""

SAME = {
    "conditions[].lines[]": "incidents[].lines[]",
    "incidents[].details[].lines[]": "incidents[].lines[]",
    "incidents[].absences[].lines[]": "incidents[].lines[]",
}
"""Objects with the fields of others."""

BY_NAME = ("counts", "incidents_left")
"""Objects whose fields are named by what they count, or are described where the object is."""


def described() -> dict[str, set[str]]:
    """Return the fields of each object by its place, as the page has them."""
    found: dict[str, set[str]] = {}
    place: str | None = None
    for line in DESCRIBED.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = re.fullmatch(r"## `(.+)`", line)
            place = heading[1] if heading else {"## The report": ""}.get(line)
        elif place is not None and line.startswith("| `"):
            found.setdefault(place, set()).update(re.findall(r"`(\w+)`", line.split("|")[1]))
    return found


def written(value: Any, place: str = "") -> Iterator[tuple[str, set[str]]]:
    """Yield the fields of each object of a JSON with the object's place."""
    if isinstance(value, list):
        for each in value:
            yield from written(each, f"{place}[]")
    elif isinstance(value, dict) and "certainty" in value:
        yield "certain", set(value)
    elif isinstance(value, dict) and place not in BY_NAME:
        yield SAME.get(place, place), set(value)
        for name, each in value.items():
            yield from written(each, f"{place}.{name}" if place else name)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Return the fields of the JSONs about the logs of ``LOGS``."""
    found: dict[str, set[str]] = {}
    for story in LOGS:
        folder = tmp_path_factory.mktemp("described")
        for part in re.split(r"^== ", (STORIES / f"{story}.txt").read_text("utf-8"), flags=re.MULTILINE)[1:]:
            name, content = part.split("\n", 1)
            log = folder / "logs" / name
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(content, encoding="utf-8")
        for name, content in (("odd", ODD), ("unsafe", UNSAFE)):
            (folder / "logs" / name).mkdir()
            (folder / "logs" / name / "state-change.log").write_text(content, encoding="utf-8")
        assert job.run([folder / "logs"], folder / "out") == 0
        report = json.loads((folder / "out" / "report.json").read_text(encoding="utf-8"))
        for place, names in written(report):
            found.setdefault(place, set()).update(names)
    return found


def test_each_field_is_described_and_each_described_field_is_written(report: dict[str, set[str]]) -> None:
    pages = described()
    assert report.pop("certain") <= {"certainty", "value", "at_least", "at_most", "why"}
    assert sorted(set(pages) ^ set(report)) == []
    differing = {place: sorted(names ^ pages[place]) for place, names in report.items()}
    assert {place: names for place, names in differing.items() if names} == {}
