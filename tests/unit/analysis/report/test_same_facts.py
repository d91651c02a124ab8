"""Answers about brokers and partitions that say what the incidents of the same report say."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from barnabas.analysis import job
from barnabas.analysis.derived.unavailability import LEADER_OFFLINE, NOBODY_IN_SYNC, NOTIFIED_ONLY
from barnabas.analysis.report.same_facts import NOT_SHOWN, departures, without_leader
from barnabas.analysis.story.absence import Absence
from barnabas.analysis.story.causes import Cause
from barnabas.analysis.story.certainty import Bound, Fact, Instant, Unknown
from barnabas.analysis.story.costs import costs_of
from barnabas.analysis.story.incident import Incident, IncidentKind
from barnabas.analysis.story.partitions import Outage

RECORDED = Path(__file__).parents[3] / "data" / "truth"
START = datetime.fromisoformat("2026-11-25T21:24:40")
NEVER = Unknown("no line shows it")


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


def lost(begin: Instant, end: Instant, partition: int = 0, after: int | None = 2) -> Outage:
    return Outage(("t", partition, 0), begin, end, 1, after)


def incident(*outages: Outage, absences: tuple[Absence, ...] = ()) -> Incident:
    kind = IncidentKind.DEPARTURE if absences else IncidentKind.NO_LEADER
    return Incident(kind, at(0), None, absences=absences, costs=costs_of((1, each) for each in outages))


def gone(broker: int, left: Instant, noticed: Instant, returned: Instant) -> Absence:
    return Absence(
        broker, left, Cause.DIED, None, has_own_log=True, noticed=noticed, started=None, returned=returned
    )


def row(partition: int, cause: str, total: int = 1_023) -> dict[str, Any]:
    return {
        "topic": "t", "partition": partition, "outages": 1, "lasting": False, "total_ms": total,
        "at_most_ms": None, "longest_ms": total, "first": at(48), "cause": cause,
    }  # fmt: skip


def told(rows: list[dict[str, Any]], *found: Incident) -> list[tuple[object, ...]]:
    names = ("partition", "outages", "lasting", "total_ms", "at_most_ms", "longest_ms", "first", "cause")
    return [tuple(each[name] for name in names) for each in without_leader(rows, found)]


def test_times_without_a_leader_are_those_of_the_incidents() -> None:
    dead = gone(1, Fact(at(9)), NEVER, Fact(at(50)))
    left = incident(
        lost(Fact(at(10)), Bound(at(20), at(30))), lost(Fact(at(60)), Fact(at(65))),
        lost(Bound(at(9), at(10)), Bound(None, at(14)), 1),
        absences=(dead,),
    )  # fmt: skip
    free = incident(lost(Fact(at(70)), NEVER, 2, after=None), lost(Fact(at(70)), NEVER, 3))
    rows = [row(0, NOTIFIED_ONLY), row(2, NOBODY_IN_SYNC), row(9, NOBODY_IN_SYNC, 400)]
    assert told(rows, left, free) == [
        (2, 1, True, 0, None, 0, at(70), NOBODY_IN_SYNC),
        (0, 2, False, 15_000, 25_000, 10_000, at(10), LEADER_OFFLINE),
        # No incident names it.
        (9, 1, False, 400, None, 400, at(48), NOBODY_IN_SYNC),
        (1, 1, False, 0, 5_000, 0, at(10), LEADER_OFFLINE),
        (3, 1, False, 0, None, 0, at(70), NOT_SHOWN),
    ]


def test_departures_are_those_of_the_incidents() -> None:
    absences = (
        gone(1, Bound(at(9), at(10)), Fact(at(14)), Fact(at(48))),
        gone(2, Fact(at(20)), NEVER, Bound(at(40), at(41))),
        gone(3, Fact(at(30)), NEVER, NEVER),
    )
    # Another broker's lost contact shows broker 1 alive a second after its last line.
    known = {"since": at(14), "last_logged": at(8), "back": None, "controller_epoch": 5, "partitions": 3}
    # Broker 4 is not gone: a log directory of its failed.
    seen = [{"broker": broker, **known} for broker in (1, 4)]
    assert [tuple(each.values()) for each in departures(seen, [incident(absences=absences)])] == [
        (1, at(14), at(8), at(48), 5, 3),
        (2, at(20), at(20), at(41), None, None),
        (3, at(30), at(30), None, None, None),
    ]


@pytest.mark.parametrize("name", ["kafka-4.0-kill", "kafka-3.9-stop-of-all", "barnabas-kill"])
def test_the_answers_of_a_report_do_not_contradict_its_incidents(name: str, tmp_path: Path) -> None:
    for part in (RECORDED / f"{name}.txt").read_text().split("== ")[1:]:
        place, text = part.split("\n", 1)
        log = tmp_path / "logs" / place
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(text)
    assert job.run([tmp_path / "logs"], tmp_path / "out") == 0
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    costs = [cost for each in report["incidents"] for cost in each["costs"]]
    assert costs
    for cost in costs:
        duration = cost["duration_ms"]
        for each in report["answers"]["partitions_without_leader"]:
            if f"{each['topic']}-{each['partition']}" in cost["partitions"]:
                assert each["total_ms"] + 1 > (duration.get("value") or duration.get("at_least") or 0)
                assert (each["at_most_ms"] is None) >= (duration.get("at_most") is None)
    absent = [each for every in report["incidents"] for each in every["absences"]]
    assert absent
    assert sorted((each["broker"], latest(each["returned"])) for each in absent) == sorted(
        (each["broker"], each["back"]) for each in report["answers"]["departures"]
    )


def latest(moment: dict[str, Any]) -> str | None:
    return moment.get("value") or moment.get("at_most")
