"""Stalls, failovers and leaders that say what the incidents of the same report prove."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from barnabas.analysis.derived.leaders import LOST, MOVED, NO_LEADER_BEFORE, NONE, WITHOUT
from barnabas.analysis.derived.unavailability import LEADER_OFFLINE
from barnabas.analysis.questions.availability import OFFLINE
from barnabas.analysis.report.same_facts import NOT_SHOWN
from barnabas.analysis.report.same_stories import after_losses, born_once, failovers, leaders, periods, stalls
from barnabas.analysis.report.words import Step, headline, steps
from barnabas.analysis.story.absence import Absence
from barnabas.analysis.story.causes import Cause
from barnabas.analysis.story.certainty import Bound, Fact, Unknown
from barnabas.analysis.story.clocks import Difference
from barnabas.analysis.story.costs import costs_of
from barnabas.analysis.story.incident import Incident, IncidentKind
from barnabas.analysis.story.partitions import Outage

START = datetime.fromisoformat("2026-11-27T03:15:00")
NEVER = Unknown("no line shows it")


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


def lost(begin: Bound[datetime] | Fact[datetime], shown: float, led: float) -> Outage:
    return Outage(("t", 0, 0), begin, Fact(at(led)), 1, 2, at(shown))


def died(noticed: float) -> Absence:
    return Absence(
        1, Bound(at(13.2), at(14.2)), Cause.DIED, None, has_own_log=True, noticed=Fact(at(noticed)),
        started=None, returned=NEVER,
    )  # fmt: skip


def incident(outage: Outage, *absences: Absence) -> Incident:
    kind = IncidentKind.DEPARTURE if absences else IncidentKind.NO_LEADER
    return Incident(kind, at(14), None, absences=absences, costs=costs_of([(1, outage)]))


STALL: dict[str, Any] = {
    "topic": "t", "partition": 0, "what": OFFLINE, "since": at(16.764), "until": at(17),
    "earliest": at(13.18), "leader_before": 1, "leader_after": 2, "elected": at(16.9), "led_at": at(17),
    "leader_epoch": 1,
    "controller_epoch": 5, "failed": 0, "failure": None, "cause": LEADER_OFFLINE,
}  # fmt: skip


def test_a_stall_has_the_bounds_of_its_incident() -> None:
    known = periods([incident(lost(Bound(at(13.2), at(14.2)), 16.9, 17), died(16.763))])
    (row,) = stalls([STALL], known)
    assert headline(row) == "t-0 had no leader for at least 2.8 s and at most 3.8 s: its leader went offline"
    # No line of broker 1 has the time 13.2, and the first line about its loss is of another partition.
    assert steps(row)[:2] == [
        Step(at(13.2), "broker 1, its leader, led it until then or longer"),
        Step(at(16.763), "the controller noticed in controller epoch 5: its leader went offline"),
    ]


def test_a_leader_whose_broker_did_not_leave_did_not_go_offline() -> None:
    known = periods([incident(lost(Bound(None, at(16.764)), 16.9, 17))])
    (row,) = stalls([STALL], known)
    assert headline(row).endswith(
        f"for at least 236 ms (no line shows when the old leader was lost): {NOT_SHOWN}"
    )
    assert steps(row)[0] == Step(at(16.764), f"the controller noticed in controller epoch 5: {NOT_SHOWN}")
    led = {"topic": "t", "partition": 0, "leader": 3, "leader_epoch": 2}
    rows = [
        led | {"since": at(1), "why": MOVED, "ended": NONE},
        led | {"since": at(16.764), "why": NONE, "ended": LOST},
        led | {"since": at(16.9), "why": LOST, "ended": MOVED},
    ]  # fmt: skip
    assert [(each["why"], each["ended"]) for each in leaders(rows, [row])] == [
        (MOVED, NONE), (WITHOUT, NO_LEADER_BEFORE), (NO_LEADER_BEFORE, MOVED),
    ]  # fmt: skip
    offline = periods([incident(lost(Bound(None, at(16.764)), 16.9, 17), died(16.763))])
    assert leaders(rows, stalls([STALL], offline)) == rows


def test_an_election_after_the_loss_of_the_leader_is_no_move() -> None:
    row: dict[str, Any] = {"leader": 2, "previous_leader": 1, "since": at(16.9), "why": MOVED, "isr": [2, 3]}
    told = incident(lost(Fact(at(16)), 16.9, 17), died(16.763))
    assert after_losses([row], [told]) == [row | {"why": LOST}]
    later, kept = row | {"since": at(30)}, row | {"isr": [1, 2, 3]}
    assert after_losses([later, kept], [told]) == [later, kept]
    stopped = replace(died(16.763), cause=Cause.PLANNED)
    assert after_losses([row], [incident(lost(Fact(at(16)), 16.9, 17), stopped)]) == [row]


def test_a_partition_is_new_once_though_a_broker_s_clock_is_behind() -> None:
    early: dict[str, Any] = {
        "topic": "t", "partition": 0, "life": 0, "leader": 1, "leader_epoch": 0, "since": at(2.02),
        "controller": None,
    }  # fmt: skip
    born = early | {"life": 1, "since": at(5), "controller": 3}
    told = incident(lost(Fact(at(16)), 16.9, 17), died(16.763))
    behind = replace(told, differences=(Difference(2, 3, timedelta(seconds=2.98), is_ahead=False),))
    assert born_once([early, born], [behind]) == [born]
    assert born_once([early, born], [told]) == [early, born]
    # A controller made it, or it was long before.
    assert born_once([early | {"controller": 3}, born], [behind]) == [early | {"controller": 3}, born]
    assert born_once([early | {"since": at(-1)}, born], [behind]) == [early | {"since": at(-1)}, born]


def test_a_leader_that_stops_may_end_after_the_notice() -> None:
    stops = replace(died(16.7), gone=Fact(at(16.8)), cause=Cause.STOPPED)
    told = incident(lost(Fact(at(16.8)), 16.9, 17), stops)
    (row,) = stalls([STALL], periods([told]))
    assert [step.time for step in steps(row)[:2]] == [at(16.7), at(16.8)]
    failover: dict[str, Any] = {
        "broker": 1, "controller": 3, "partitions": 1, "moved": 1, "leaders": [2], "last_logged": at(13.18),
        "noticed": at(16.764), "elected": at(16.9), "total_ms": 3_820,
    }  # fmt: skip
    (agreed,) = failovers([failover], [told], periods([told]))
    assert (agreed["last_logged"], agreed["is_silent"]) == (at(13.18), True)
    # Broker 1 wrote after the first line about its stop, which is of its followers.
    (agreed,) = failovers([failover | {"last_logged": at(16.75)}], [told], periods([told]))
    assert (agreed["last_logged"], agreed["noticed"]) == (at(16.75), at(16.764))


def test_a_stall_that_no_incident_has_remains() -> None:
    other = STALL | {"topic": "u"}
    assert stalls([other], periods([incident(lost(Fact(at(16)), 16.9, 17))])) == [other]


def test_the_notice_of_a_failover_is_that_of_its_incident() -> None:
    row: dict[str, Any] = {
        "broker": 1, "controller": 3, "partitions": 1, "moved": 1, "leaders": [2], "last_logged": at(13.18),
        "noticed": at(16.764), "elected": at(16.9), "total_ms": 3_820,
    }  # fmt: skip
    told = incident(lost(Bound(at(13.2), at(14.2)), 16.9, 17), died(16.763))
    (agreed,) = failovers([row], [told], periods([told]))
    assert agreed == row | {
        "last_logged": at(13.2), "is_silent": False, "noticed": at(16.763), "total_ms": 3_800, "apart": [],
        "cause": LEADER_OFFLINE,
    }  # fmt: skip
    # The broker was back long before: it did not leave in this failover.
    free = incident(lost(Bound(None, at(16.764)), 16.9, 17))
    (alone,) = failovers([row], [free], periods([free]))
    assert (alone["last_logged"], alone["total_ms"]) == (None, None)
