"""Which broker left, and why, a failover takes from the incidents."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from barnabas.analysis.report.as_text import text
from barnabas.analysis.report.document import Document
from barnabas.analysis.report.failovers import (
    NO_STEPS,
    Departures,
    failover_headline,
    failover_steps,
    failover_total,
    missing_steps,
)
from barnabas.analysis.report.words import UNBOUNDED, UNLED, Step, timed
from barnabas.analysis.story.causes import Cause

Row = dict[str, Any]


@pytest.fixture
def incident(document: Document) -> Row:
    """Broker 1 died between 03:12:02.000 and 03:12:08.010, and no line shows a return."""
    return dict(document.incidents[0])


def caused(incident: Row, cause: Cause, **more: Any) -> Row:
    (absence,) = incident["absences"]
    return incident | {"absences": [absence | {"cause": cause.value} | more]}


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        (Cause.PLANNED, "stopped in an orderly way"), (Cause.STOPPED, "stopped in an orderly way"),
        (Cause.NOT_GRANTED, "stopped after a failed controlled shutdown"), (Cause.DIED, "died"),
        (Cause.LOST_SESSION, "was given up by the cluster, although its process lived on"),
        (Cause.UNKNOWN, "was lost (why is unknown)"),
    ],
)  # fmt: skip
def test_why_a_broker_left_is_what_the_incident_says(
    failover: Row, incident: Row, cause: Cause, said: str
) -> None:
    left = Departures([caused(incident, cause)]).of(failover)
    assert (
        failover_headline(failover, left) == f"Broker 1, the controller, {said}; 2 partitions had no leader"
    )


def test_a_failover_is_of_the_latest_departure_before_its_notice(failover: Row, incident: Row) -> None:
    (absence,) = incident["absences"]
    noticed, hour = failover["noticed"], timedelta(hours=1)
    earlier = caused(
        incident, Cause.PLANNED, gone={"certainty": "fact", "value": noticed - hour},
        noticed={"certainty": "unknown", "why": ""}, was_controller=False,
    )  # fmt: skip
    later = caused(
        incident, Cause.PLANNED, gone={"certainty": "fact", "value": noticed + hour},
        noticed={"certainty": "unknown", "why": ""},
    )  # fmt: skip
    other = incident | {"absences": [absence | {"broker": 2}]}
    left = Departures([later, other, earlier, incident]).of(failover)
    assert left is not None
    assert (left.incident, left.cause) == (3, Cause.DIED.value)
    left = Departures([earlier]).of(failover)
    assert (
        failover_headline(failover, left) == "Broker 1 stopped in an orderly way; 2 partitions had no leader"
    )


def test_a_broker_that_became_the_controller_later_was_not_it_yet(failover: Row, incident: Row) -> None:
    left = Departures([incident]).of(failover)
    told = failover_headline(failover | {"was_controller": False}, left)
    assert told == "Broker 1 died; 2 partitions had no leader"


def test_a_failover_cites_the_lines_of_its_own_broker(failover: Row, incident: Row) -> None:
    own = {"place": "broker-1/server.log:88", "raw": "Recovering"}
    left = Departures([caused(incident, Cause.DIED, lines=[own])]).of(failover)
    assert left is not None
    assert left.lines == [own]
    left = Departures([caused(incident, Cause.DIED, lines=[])]).of(failover)
    assert left is not None
    assert left.lines == incident["lines"]


def test_a_broker_that_stops_loses_its_leaders_before_it_ends(failover: Row, incident: Row) -> None:
    end = {"certainty": "fact", "value": failover["noticed"] + timedelta(minutes=1)}
    unknown = {"certainty": "unknown", "why": ""}
    stopped = caused(incident, Cause.PLANNED, gone=end, noticed=unknown, stopping=failover["noticed"])
    assert Departures([stopped]).of(failover) is not None
    assert Departures([caused(stopped, Cause.PLANNED, stopping=None)]).of(failover) is None


def test_a_failover_after_the_return_is_not_of_that_departure(failover: Row, incident: Row) -> None:
    back = {"certainty": "fact", "value": failover["noticed"] - timedelta(seconds=3)}
    returned = caused(incident, Cause.DIED, returned=back)
    assert Departures([returned]).of(failover) is None


def test_without_an_incident_no_broker_is_said_to_have_left(failover: Row) -> None:
    assert Departures([]).of(failover) is None
    assert failover_headline(failover, None) == (
        "2 partitions lost broker 1 as leader; no incident of this report tells why"
    )


def test_a_failover_in_sentences(failover: Row) -> None:
    assert [step.text for step in failover_steps(failover)] == [
        "the last line of broker 1 before the controller noticed",
        "broker 2 became controller, epoch 8",
        "the controller noticed: 2 partitions had no leader",
        "1 partition moved to broker 2",
        "the first LeaderAndIsr was sent",
        "the last new leader led",
        "the last of their followers followed, by a clock that is behind",
        "1 partition waited for broker 1 to come back",
    ]
    assert failover_steps(failover | {"waited": 0, "stranded": 1})[-1] == Step(
        None, "no line shows another leader of 1 partition within 30 s"
    )


def test_where_no_controller_s_line_shows_a_loss_the_steps_are_said_to_be_missing(
    failover: Row, document: Document
) -> None:
    alone = failover | {"partitions": 0}
    assert missing_steps([failover]) == ""
    assert missing_steps([]) == missing_steps([alone]) == NO_STEPS
    told = list(text(replace(document, answers={**document.answers, "failovers": []})))
    assert told[told.index("Failovers") + 1] == f"  {NO_STEPS}"
    quiet = replace(document, answers={**document.answers, "failovers": []}, incidents=())
    assert "Failovers" not in list(text(quiet))


def test_the_last_to_follow_and_the_last_to_lead_come_in_their_order(failover: Row) -> None:
    soon = failover["sent"] + timedelta(milliseconds=10)
    told = failover_steps(failover | {"followed": soon, "followed_behind": False})
    assert [step.text for step in told[-3:-1]] == [
        "the last of their followers followed",
        "the last new leader led",
    ]
    assert all(step.after is None or step.after >= 0 for step in timed(told))


def test_how_long_a_failover_took_is_a_bound(failover: Row) -> None:
    moved = failover | {"waited": 0, "partitions": 1}
    assert failover_total(moved) == "40 ms from the notice to the last new leader, at most 6.1 s in all"
    unseen = moved | {"led_unseen": 1, "total_ms": None}
    assert failover_total(unseen) == (
        f"at least 40 ms from the notice to the last new leader ({UNLED}: 1 partition)"
    )
    assert "the last new leader led that a line shows" in [step.text for step in failover_steps(unseen)]
    unlogged = moved | {"last_logged": None, "total_ms": None}
    assert failover_total(unlogged) == f"40 ms from the notice to the last new leader ({UNBOUNDED})"
    assert failover_total(moved | {"led": None}) == ""


def test_the_total_of_a_failover_names_who_has_no_other_leader(failover: Row) -> None:
    own = "40 ms from the notice to the last new leader of 1 partition, at most 6.1 s in all"
    waited = "1 partition waited for broker 1 until 2 min 33 s after the notice"
    assert failover_total(failover) == f"{own}; {waited}"
    lost = failover | {"waited": 0, "stranded": 2, "partitions": 3}
    stranded = "no line shows another leader of 2 partitions within 30 s"
    assert failover_total(lost) == f"{own}; {stranded}"
    alone = failover | {"moved": 0, "led": None, "total_ms": None, "stranded": 2, "partitions": 3}
    assert failover_total(alone) == f"{waited}; {stranded}"
    # By clocks that differ, the wait would have ended before the notice.
    early = alone | {"returned": alone["noticed"] - timedelta(seconds=1)}
    assert failover_total(early) == f"1 partition waited for broker 1; {stranded}"


def test_a_step_long_before_the_one_before_it_has_no_duration(failover: Row) -> None:
    told = timed(
        failover_steps(failover | {"last_logged": failover["controller_since"] + timedelta(days=334)})
    )
    assert told[1].after is None
    assert told[1].text.endswith(
        "epoch 8; the clocks contradict each other, or the logs are of different clusters"
    )
    assert told[2].after == 10


def test_a_controller_that_led_nothing_was_not_lost_for_all_we_know(failover: Row) -> None:
    alone = failover | {
        "partitions": 0,
        "moved": 0,
        "waited": 0,
        "stranded": 0,
        "elected": None,
        "sent": None,
    }
    alone |= {"led": None, "followed": None}
    assert failover_headline(alone, None) == "Broker 2 took over from broker 1 as controller"
    assert failover_headline(alone | {"broker": 2}, None) == "Broker 2 was elected controller again"
    assert [step.text for step in failover_steps(alone)] == [
        "the last line of broker 1 as controller",
        "broker 2 became controller, epoch 8",
    ]
    # A controller that was paused, or cut off, does not know of the next one yet.
    late = alone | {"last_logged": alone["controller_since"] + timedelta(seconds=14)}
    assert [step.text for step in timed(failover_steps(late))] == [
        "broker 2 became controller, epoch 8",
        "the last line of broker 1 as controller: it wrote on, or its clock is ahead",
    ]
