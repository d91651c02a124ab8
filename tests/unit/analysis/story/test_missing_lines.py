"""Golden incidents and recordings with lines left out: an unknown never becomes a claimed outage."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import cache
from itertools import compress, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.analysis.story.certainty import Bound, Fact
from barnabas.analysis.story.costs import Cost, least
from barnabas.analysis.story.incident import Incident
from barnabas.analysis.story.incidents import incidents
from barnabas.bench.truth.claims import observed, read
from barnabas.bench.truth.judge import ROUNDING
from barnabas.bench.truth.recordings import load
from barnabas.bench.truth.truths import Truth

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.txt"))
ENTRY = re.compile(r"^(?=\[)", re.MULTILINE)

EVERY_LINE = os.environ.get("EVERY_LINE") == "1"
"""Set by `make every-line`: each line of each golden incident is left out once, which takes minutes."""

TRIED = 200 if os.environ.get("CI") else 50
"""How many lines are left out, one after the other, where not all are."""


@cache
def entries(path: Path) -> tuple[tuple[str, str], ...]:
    """The entries of a golden file with the names of their logs."""
    _, *parts = re.split(r"^== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return tuple(
        (name, entry)
        for name, text in (part.split("\n", 1) for part in parts)
        for entry in ENTRY.split(text)
        if entry
    )


def story(kept: Sequence[tuple[str, str]]) -> list[Incident]:
    logs: dict[str, str] = {}
    for name, entry in kept:
        logs[name] = logs.get(name, "") + entry
    return incidents(observed(read(logs)))


@cache
def whole(path: Path) -> tuple[Cost, ...]:
    """What all lines prove, or call an outage of unknown length."""
    return tuple(cost for incident in story(entries(path)) for cost in incident.costs)


def claims(found: Sequence[Incident], known: Sequence[Cost]) -> Iterator[str]:
    """The outages of which ``found`` proves a length that ``known`` denies."""
    for incident in found:
        for cost in incident.costs:
            for name in cost.partitions:
                longest = max((most(each) for each in known if name in each.partitions), default=timedelta(0))
                if least(cost.duration) > longest:
                    yield f"{name} had no leader {cost.duration}; with all lines {longest} at most"


def most(cost: Cost) -> timedelta:
    match cost.duration:
        case Fact(value=value):
            return value
        case Bound(at_most=value) if value is not None:
            return value
    return timedelta.max


@settings(max_examples=200 if EVERY_LINE else 60)
@given(path=st.sampled_from(GOLDEN), data=st.data())
def test_no_line_that_is_left_out_proves_an_outage(path: Path, data: st.DataObject) -> None:
    lines = entries(path)
    dropped = data.draw(st.sets(st.integers(0, len(lines) - 1)))
    kept = [line for number, line in enumerate(lines) if number not in dropped]
    assert list(claims(story(kept), whole(path))) == []


def lines_to_leave_out() -> list[tuple[Path, int]]:
    """Numbers of lines of golden incidents: the same ones in all workers of a run, others in the next run."""
    every = [(path, number) for path in GOLDEN for number in range(len(entries(path)))]
    return (
        every if EVERY_LINE else random.Random(os.environ.get("PYTEST_XDIST_TESTRUNUID")).sample(every, TRIED)
    )


@pytest.mark.parametrize(
    ("path", "number"),
    lines_to_leave_out(),
    ids=lambda each: each.stem if isinstance(each, Path) else str(each),
)
def test_a_golden_incident_survives_the_loss_of_a_line(path: Path, number: int) -> None:
    lines = entries(path)
    found = story([*lines[:number], *lines[number + 1 :]])
    assert list(claims(found, whole(path))) == [], lines[number]


def test_an_outage_that_all_lines_do_not_prove_is_found() -> None:
    path = next(each for each in GOLDEN if each.stem == "2.8-leader-lost-no-server-log")
    (planted,) = claims(story(entries(path)), ())
    assert planted.startswith("orders-0 had no leader")


RECORDINGS = sorted((Path(__file__).parents[3] / "data" / "truth").glob("*.json"))


@cache
def recorded(path: Path) -> tuple[Truth, tuple[tuple[str, str], ...]]:
    """The truth of a recorded scenario, and the entries of its logs with the names of the logs."""
    truth, logs = load(path)
    return truth, tuple((name, entry) for name, text in logs.items() for entry in ENTRY.split(text) if entry)


def false_claims(found: Sequence[Incident], truth: Truth) -> Iterator[str]:
    """The outages that are claimed to be longer than every one that was measured of their partition."""
    for incident in found:
        for cost in incident.costs:
            for name in {*cost.partitions} & {*truth.in_sync, *(each.partition for each in truth.leaderless)}:
                known = [each.most for each in truth.leaderless if each.partition == name]
                longest = max((each for each in known if each is not None), default=timedelta(0))
                if None not in known and least(cost.duration) > longest + ROUNDING:
                    yield f"{name} had no leader {cost.duration}; truly {longest} at most"


@settings(max_examples=60 if EVERY_LINE else 20)
@given(path=st.sampled_from(RECORDINGS), data=st.data())
def test_no_stretch_of_lines_that_is_left_out_makes_an_outage_longer_than_it_was(
    path: Path, data: st.DataObject
) -> None:
    truth, lines = recorded(path)
    if data.draw(st.booleans(), "whether the lines of all logs in a stretch of time are left out"):
        lines = tuple(sorted(lines, key=lambda each: each[1][1:24]))
    edges = sorted(data.draw(st.lists(st.integers(0, len(lines)), max_size=6)))
    # Between an odd and the next even edge the lines are missing.
    kept = [line for number, line in enumerate(lines) if sum(edge <= number for edge in edges) % 2 == 0]
    assert list(false_claims(story(kept), truth)) == []


def elected(time: str, was: str, leader: int, epoch: int) -> str:
    """The line of an election at a time of one day, by the controller, broker 3."""
    return (
        f"[2024-03-05 {time}] INFO [Controller id=3 epoch=5] Changed partition orders-0 from {was} to "
        f"OnlinePartition with state LeaderAndIsr(leader={leader}, leaderEpoch={epoch}, isr=List(2), "
        f"zkVersion={epoch}) (state.change.logger)\n"
    )


def removed(time: str, replica: int, epoch: int) -> str:
    """The line of a leader that is lost."""
    return (
        f"[2024-03-05 {time}] INFO [Controller id=3 epoch=5] Partition orders-0 state changed to "
        f"(Leader:-1,ISR:2,LeaderEpoch:{epoch},ZkVersion:{epoch},ControllerEpoch:5) after removing replica "
        f"{replica} from the ISR as part of transition to OfflineReplica (state.change.logger)\n"
    )


def test_two_short_outages_never_become_a_long_one() -> None:
    lines = (
        elected("10:00:00,010", "NewPartition", 1, 0),
        removed("10:00:10,000", 1, 1),
        elected("10:00:10,100", "OfflinePartition", 2, 2),
        removed("10:10:00,000", 2, 3),
        elected("10:10:00,100", "OfflinePartition", 2, 4),
    )
    for choice in product((True, False), repeat=len(lines)):
        found = story([("broker-3/state-change.log", line) for line in compress(lines, choice)])
        longest = max((least(cost.duration) for each in found for cost in each.costs), default=timedelta(0))
        assert longest <= timedelta(milliseconds=100), choice
