"""Sentences about incidents: the first one is short, and each ending of a cost has its words."""

from __future__ import annotations

from datetime import timedelta

import pytest

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.certainty import Bound, Fact, Unknown
from barnabas.analysis.story.controllers import Vacancy
from barnabas.analysis.story.costs import Cost, Ending
from barnabas.analysis.story.elections import UncleanElection
from barnabas.analysis.story.incident import Incident, IncidentKind
from barnabas.analysis.story.partitions import Gap
from barnabas.analysis.story.sentences.incidents import details, headline
from barnabas.analysis.story.troubles import Trouble
from tests.unit.analysis.story.rows import LIFE, at, broker_line, death, line

WORDS = 20
"""The most words of a first sentence."""


def cost(ending: Ending, **more: object) -> Cost:
    known = {"partitions": ("t-0",), "duration": Fact(timedelta(seconds=4)), "leaders": (2,)} | more
    return Cost(ending=ending, failed=0, begin=at(0), lines=(line("lost"),), **known)  # type: ignore[arg-type]


def no_leader(*costs: Cost) -> Incident:
    return Incident(IncidentKind.NO_LEADER, at(0), None, costs=costs, lines=(line("lost"),))


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        (Ending.MOVED, "t-0 had no leader for 4.0 s, until broker 2 led it."),
        (Ending.ELECTED, "t-0 had no leader for 4.0 s, until broker 2 was elected."),
        (Ending.RETURNED, "t-0 had no leader for 4.0 s, until broker 2 led it again."),
        (Ending.ELECTED_AGAIN, "t-0 had no leader for 4.0 s, until broker 2 was elected again."),
        (Ending.DELETED, "t-0 had no leader for 4.0 s, until the topic was deleted."),
        (Ending.NOT_SHOWN, "t-0 had no leader at 10:00:00.000, and no line shows who led next."),
    ],
)
def test_a_cost_says_how_it_ended(ending: Ending, said: str) -> None:
    told = [each.text for each in details(no_leader(cost(ending)), at(0).date())]
    assert told == ["It began at 10:00:00.000 or before.", said]


def test_a_partition_that_has_no_leader_at_the_end_of_the_logs_still_has_none() -> None:
    open_one = cost(Ending.LASTING, duration=Unknown("open"), lasting=at(9))
    assert headline(no_leader(open_one)).text == "No line shows why t-0 has no leader."
    (_, said) = details(no_leader(open_one), at(0).date())
    assert said.text == (
        "t-0 had no leader at 10:00:00.000 and still has none when the logs end (10:00:09.000), as far as "
        "they show."
    )


@pytest.mark.parametrize(("broker", "whose"), [(1, " of broker 1"), (None, "")])
def test_a_log_directory_is_said_to_be_of_a_broker_only_if_the_line_names_it(
    broker: int | None, whose: str
) -> None:
    failed = broker_line(1, BrokerKind.DIRECTORY_FAILED, error="/data")._replace(subject=broker)
    incident = Incident(IncidentKind.FAILED_DIRECTORY, at(1), at(1), failures=(failed,), lines=(failed.line,))
    assert headline(incident).text == f"A log directory{whose} had failed."
    (said,) = details(incident, at(0).date())
    assert said.text == f"A log directory{whose} had failed at 10:00:01.000 (/data)."


def test_the_first_sentence_counts_brokers_that_it_cannot_name() -> None:
    gone = tuple(death(broker, 10, None, None) for broker in range(100, 120))
    unclean = UncleanElection(LIFE, 2, 7, (1,), Bound(None, at(2)), (line("elected"),))
    incident = Incident(
        IncidentKind.SEVERAL,
        at(10),
        None,
        absences=gone,
        costs=(cost(Ending.MOVED),),
        unclean=(unclean,) * 50,
    )
    text = headline(incident).text
    assert text == "20 brokers died; 50 leaders not in sync were elected: acknowledged records may be lost."
    assert len(text.split()) <= WORDS


def test_an_error_that_is_a_sentence_ends_with_one_full_stop() -> None:
    failed = Trouble(1, broker_line(11, BrokerKind.START_FAILED, error="The port is taken."), 1)
    incident = Incident(
        IncidentKind.DEPARTURE, at(10), None, absences=(death(1, 10, None, None),), troubles=(failed,)
    )
    (said, *_) = details(incident, at(0).date())
    assert "failed to start at 10:00:11.000 (The port is taken), and no line shows a return." in said.text


def test_without_a_majority_there_is_no_controller() -> None:
    vacancy = Vacancy(at(0), None, 3, (line("lost"),))
    incident = Incident(IncidentKind.NO_CONTROLLER, at(0), None, vacancies=(vacancy,))
    assert headline(incident).text == (
        "Broker 3 lost the majority of the voters, and there was no active controller."
    )
    (said,) = details(incident, at(0).date())
    assert said.text.startswith("From 10:00:00.000 on no line shows an active controller; ")


@pytest.mark.parametrize(("until", "when"), [(4, "Between 10:00:01.000 and 10:00:04.000"), (1, "Between")])
def test_leader_changes_without_a_line_are_counted(until: int, when: str) -> None:
    gap = Gap(LIFE, at(1), at(until), 2, (line("before"), line("after")))
    incident = Incident(IncidentKind.UNSEEN, at(1), at(until), gaps=(gap,), lines=gap.lines)
    assert headline(incident).text == "Leader changes of 1 partition are in no line of these logs."
    (said,) = details(incident, at(0).date())
    assert said.text.startswith(when)
