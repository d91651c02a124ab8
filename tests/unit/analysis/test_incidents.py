"""Small logs of real clusters, as people post them: what a report must and must not say of each.

The truth was found by reading the lines, and for some of them from the issue that they were attached to.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from barnabas.analysis.job import run
from barnabas.analysis.report.files import Format

INCIDENTS = Path(__file__).parents[2] / "data" / "incidents"


def report_of(name: str, out: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The whole report as text, on one line."""
    assert run([INCIDENTS / name], out, form=Format.TEXT) == 0
    return " ".join(capsys.readouterr().out.split())


SAID = {
    "kraft-stop-of-all-3.9": (
        [r"Brokers 1, 2 and 3 left", r"stopped|shut down as planned"],
        [r"do not say which broker wrote", r"[Nn]o line shows why"],
    ),
    "cold-start-2.8": (
        [r"Broker 1 was absent, although it was the leader of 2 partitions", r"first-0, second-1"],
        [r"[Nn]o line shows why"],
    ),
    "shut-out-after-expiry-1.1": (
        [
            r"Broker 1 is not registered: its id is still held by another session",
            r"upgrade to 2\.2",
            r"Broker 1 acts as leader of 2 partitions with a stale version: its ISR changes are refused",
        ],
        [r"was back", r"do not say which broker wrote"],
    ),
    "stale-leader-0.10": (
        [r"now: Broker 4 acts as leader of 4 partitions with a stale version", r"KAFKA-2729", r"readings-24"],
        [r"do not show who led any partition"],
    ),
    "stop-cannot-move-0.9": (
        [r"A controlled shutdown cannot move partition clicks-12: no other replica in sync is alive"],
        [r"do not show who led any partition"],
    ),
    "killed-0.8": (
        [r"Broker 1 was lost", r"14:20:30\.027 or before", r"was back at 14:21:25\.316 or before"],
        [r"\d partitions? had no leader"],
    ),
    "planned-reassignment-2.4": (
        [r"No line of these logs shows a broker lost"],
        [r"fell out of sync", r"warning:", r"critical:"],
    ),
    "orderly-stop-1.0": (
        [r"Broker 3 was stopped", r"broker 1 is controller, epoch 1"],
        [r"was elected controller"],
    ),
    "stop-without-zookeeper-1.0": ([r"Broker 3 was stopped"], [r"was lost", r"was back"]),
    "two-clusters-in-one-folder-0.10": (
        [
            r"Cluster 1 of 2",
            r"Cluster 2 of 2",
            r"acknowledged records may be lost",
            r"Broker 0 was elected leader of 2 partitions, although it was not in sync",
            r"Broker 2 was absent",
        ],
        [r"Safety audit \d", r"2017-07-03 01:06:59\.386 \(no line shows why\)"],
    ),
}
"""What a report must say, and what it must not say, as regular expressions."""


@pytest.mark.parametrize("name", SAID)
def test_a_report_says_what_is_true(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    must, must_not = SAID[name]
    text = report_of(name, tmp_path / "out", capsys)
    assert [each for each in must if not re.search(each, text)] == [], text
    assert [each for each in must_not if re.search(each, text)] == [], text
