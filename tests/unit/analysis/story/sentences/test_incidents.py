"""Sentences about incidents that no golden log leads to."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.absence import Absence
from barnabas.analysis.story.causes import Cause
from barnabas.analysis.story.certainty import Fact, Unknown
from barnabas.analysis.story.controllers import ControllerChange, Vacancy, vacancies
from barnabas.analysis.story.costs import Cost, Ending
from barnabas.analysis.story.elections import UncleanElection
from barnabas.analysis.story.incident import Incident, IncidentKind
from barnabas.analysis.story.partitions import Gap
from barnabas.analysis.story.rows import Controller
from barnabas.analysis.story.sentences.incidents import details, headline
from barnabas.analysis.story.troubles import Trouble
from tests.unit.analysis.story.rows import at, broker_line, line

DAY = at(0).date()


def told(kind: IncidentKind, **parts: object) -> str:
    return headline(Incident(kind, at(0), None, **parts), DAY).text  # type: ignore[arg-type]


def unclean(partition: int, leader: int, isr: tuple[int, ...]) -> UncleanElection:
    return UncleanElection(("t", partition, 0), leader, 7, isr, Fact(at(partition)), (line("elected"),))


def cost(*partitions: str, ending: Ending = Ending.MOVED) -> Cost:
    return Cost(partitions, Fact(timedelta(seconds=4)), ending, (2,), 0, at(0), (line("led"),))


def test_unclean_elections_are_named_with_what_they_may_have_lost() -> None:
    assert told(IncidentKind.UNCLEAN, unclean=(unclean(0, 3, (1, 2)),)) == (
        "Leaders were elected that were not in sync; broker 3, which was not in sync, was elected leader of "
        "t-0 at 10:00:00.000: acknowledged records may be lost; no line shows a partition without a leader."
    )
    several = told(IncidentKind.UNCLEAN, unclean=tuple(unclean(number, 3, ()) for number in range(6)))
    assert (
        "6 leaders that were not in sync were elected of t-0, t-1, t-2, t-3 and 2 more, the first at "
        "10:00:00.000: acknowledged records may be lost"
    ) in several


@pytest.mark.parametrize(
    ("second", "said"), [(0, "no later line says more"), (1, "a later line shows another controller")]
)
def test_a_controller_that_is_elected_after_all_were_gone_is_a_later_line(second: float, said: str) -> None:
    lost = tuple(
        Absence(
            broker, Fact(at(0)), Cause.UNKNOWN, None, has_own_log=False, noticed=Fact(at(0)), started=None,
            returned=Unknown("no line shows it"),
        )
        for broker in (1, 2)
    )  # fmt: skip
    change = ControllerChange(Controller(2, 8, at(second)), 1)
    text = told(IncidentKind.WHOLE_CLUSTER, absences=lost, changes=(change,), all_gone=at(0))
    assert text.endswith(f"; {said}.")


@pytest.mark.parametrize(
    ("only", "said"),
    [
        (frozenset[int](), "brokers 1 and 2 each as the controller"),
        (frozenset({1, 2}), "controllers 1 and 2 each as the active controller"),
    ],
)
def test_of_several_brokers_each_that_was_the_controller_is_named(only: frozenset[int], said: str) -> None:
    lost = tuple(
        Absence(
            broker, Fact(at(broker * 60)), Cause.DIED, None, has_own_log=True, noticed=Unknown("no line"),
            started=None, returned=Fact(at(broker * 60 + 9)), was_controller=broker < 3,
        )
        for broker in (1, 2, 3)
    )  # fmt: skip
    text = told(IncidentKind.SEVERAL, absences=lost, only_controllers=only)
    assert f" left, each once (all died), {said}, the first at 10:01:00.000" in text


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        (Ending.MOVED, "t-0 had no leader for 4.0 s, until broker 2 led it"),
        (Ending.ELECTED, "t-0 had no leader for 4.0 s, until broker 2 was elected"),
        (Ending.RETURNED, "t-0 had no leader for 4.0 s, until broker 2 led it again"),
        (Ending.ELECTED_AGAIN, "t-0 had no leader for 4.0 s, until broker 2 was elected again"),
        (Ending.DELETED, "t-0 had no leader for 4.0 s, until the topic was deleted"),
        (Ending.NOT_SHOWN, "t-0 had no leader at 10:00:00.000, and no line shows who led next"),
    ],
)
def test_a_cost_says_how_it_ended(ending: Ending, said: str) -> None:
    assert told(IncidentKind.NO_LEADER, costs=(cost("t-0", ending=ending),)) == (
        f"At 10:00:00.000 or before a partition lost its leader; no line shows why; {said}."
    )


@pytest.mark.parametrize(
    ("names", "still"), [(("t-0",), "t-0 ~ has"), (("t-0", "t-1"), "2 partitions ~ have")]
)
def test_a_partition_that_has_no_leader_at_the_end_of_the_logs_still_has_none(
    names: tuple[str, ...], still: str
) -> None:
    lasting = replace(cost(*names, ending=Ending.LASTING), lasting=at(90))
    who, has = still.split(" ~ ")
    text = told(IncidentKind.NO_LEADER, costs=(lasting,))
    assert text.endswith(
        f"{who} had no leader at 10:00:00.000 and still {has} none when the logs end (10:01:30.000), as far "
        "as they show."
    )


def test_a_log_directory_that_failed_is_the_reason_for_lost_leaders() -> None:
    failed = broker_line(1, BrokerKind.DIRECTORY_FAILED, error="/data")
    text = told(IncidentKind.NO_LEADER, failures=(failed,), costs=(cost("t-0", "t-1"),))
    assert text.startswith(
        "At 10:00:00.000 or before partitions lost their leaders: a log directory of broker 1 had failed at "
        "10:00:01.000 (/data); 2 partitions had no leader for 4.0 s"
    )


def test_an_error_that_is_a_sentence_ends_with_one_full_stop() -> None:
    error = "Failed to acquire lock on file .lock in /data. A Kafka instance may use this directory."
    failed = Trouble(1, broker_line(1, BrokerKind.START_FAILED, error=error), 1)
    gone = Absence(
        1, Fact(at(0)), Cause.DIED, None, has_own_log=True, noticed=Unknown("no line"), started=None,
        returned=Unknown("no line"),
    )  # fmt: skip
    incident = Incident(IncidentKind.DEPARTURE, at(0), None, absences=(gone,), troubles=(failed,))
    text = headline(incident, DAY).text
    assert f", failed to start at 10:00:01.000 ({error[:-1]}), and no line shows a return;" in text
    refused = failed._replace(first=broker_line(1, BrokerKind.REGISTRATION_REFUSED, error=error))
    (more,) = details(replace(incident, troubles=(refused,)), DAY)
    assert more.text == f"Broker 1 could not register at 10:00:01.000: {error}"


@pytest.mark.parametrize("has_resigned", [True, False])
def test_another_controller_is_named_with_what_is_known_of_the_former(has_resigned: bool) -> None:
    resigned = broker_line(2, BrokerKind.CONTROLLER_RESIGNED) if has_resigned else None
    change = ControllerChange(Controller(2, 6, at(3)), 1, 0, resigned)
    why = (
        "that one had resigned at 10:00:02.000; why is unknown"
        if has_resigned
        else "why that one ceased to be controller is unknown"
    )
    assert told(IncidentKind.CONTROLLER, changes=(change,)) == (
        f"Broker 2 was elected controller in epoch 6 by 10:00:03.000, after broker 1; {why}; "
        "nothing shows that it cost anything."
    )


@pytest.mark.parametrize(
    ("until", "said"),
    [
        (None, "From 10:00:00.000 on no line shows an active controller"),
        (at(9), "No line shows an active controller between 10:00:00.000 and 10:00:09.000"),
    ],
)
def test_a_time_without_a_controller_costs_elections(until: object, said: str) -> None:
    vacancy = Vacancy(at(0), until, 3, (line("lost"),))  # type: ignore[arg-type]
    text = told(IncidentKind.NO_CONTROLLER, vacancies=(vacancy,), only_controllers=frozenset({3}))
    assert text == (
        f"{said}: controller 3 had lost the majority of the voters; without one no partition gets another "
        "leader."
    )


def test_a_majority_that_is_lost_for_good_is_a_vacancy_without_an_end() -> None:
    lines = [
        broker_line(0, BrokerKind.CONTROLLER_KNOWN),
        broker_line(5, BrokerKind.NO_CONTROLLER, controller_epoch=4),
        broker_line(7, BrokerKind.NO_CONTROLLER),
    ]
    assert list(vacancies(lines)) == [Vacancy(at(5), None, 1, (lines[1].line, lines[2].line))]
    # An election that is still going on at the end of the logs is none.
    assert list(vacancies(lines[:2])) == []


@pytest.mark.parametrize(
    ("until", "when"),
    [
        (4, "Between 10:00:01.000 and 10:00:04.000 the"),
        (1, "At an unknown time (times and leader epochs contradict each other) the"),
    ],
)
def test_leader_epochs_never_jump_between_a_moment_and_an_earlier_one(until: int, when: str) -> None:
    since = at(1) if until == 4 else at(4)
    gap = Gap(("t", 0, 0), since, at(until), 2, (line("before"), line("after")))
    unseen = Incident(IncidentKind.UNSEEN, since, at(until), gaps=(gap,))
    assert headline(unseen, DAY).text.startswith(f"{when} leader epochs of 1 partition jump")
