"""The judge finds every claim that was planted, and nothing in a story that is true."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.absence import Absence
from barnabas.analysis.story.causes import Cause
from barnabas.analysis.story.certainty import Bound, Fact, Line, Unknown
from barnabas.analysis.story.controllers import ControllerChange
from barnabas.analysis.story.costs import Cost, Ending
from barnabas.analysis.story.elections import UncleanElection
from barnabas.analysis.story.incident import Incident, IncidentKind
from barnabas.analysis.story.isr import IsrStep
from barnabas.analysis.story.partitions import Gap
from barnabas.analysis.story.rows import BrokerLine, Controller, Refusal
from barnabas.analysis.story.shortages import Shortage
from barnabas.bench.truth.bounds import contains, holds
from barnabas.bench.truth.judge import falsehoods
from barnabas.bench.truth.scenarios import Action
from barnabas.bench.truth.truths import Departure, FailedDisk, InSync, Leaderless, Span, Tenure, Truth

START = datetime(2026, 11, 23, 14)  # noqa: DTZ001  (the logs' times have no zone)
LINE = Line("broker-2/server.log", 0, 1, "a line")


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def span(low: float, high: float) -> Span:
    return Span(at(low), at(high))


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


KILL = Departure(1, Action.KILL, span(10, 10.01), span(20, 22), was_controller=True, kept=("a-0",))
STOP = Departure(2, Action.STOP, span(60, 61), None, was_controller=False)
TRUTH = Truth(
    departures=(KILL, STOP),
    leaderless=(Leaderless("a-0", 1, KILL.gone, 2, span(14, 14.05)),),
    controllers=(Tenure(1, 4, at(0)), Tenure(2, 5, at(13.9))),
    in_sync={"a-0": (InSync(at(0), 3), InSync(at(14), 2), InSync(at(23), 3))},
    min_insync=2,
)
DIED = Absence(
    1, Bound(at(9.5), at(10.02)), Cause.DIED, None, has_own_log=True, noticed=Fact(at(13.9)),
    started=at(20.1), returned=Fact(at(21.9)), was_controller=True,
)  # fmt: skip
STOPPED = Absence(
    2, Fact(at(60.9)), Cause.PLANNED, None, has_own_log=True, noticed=Unknown("no line"), started=None,
    returned=Unknown("no line"), stopping=at(60.1),
)  # fmt: skip
COST = Cost(("a-0",), Bound(seconds(3.9), seconds(4.6)), Ending.MOVED, (2,), 0, at(10), ())
STEP = IsrStep(at(14), at(23), 2, is_certain=True, line=LINE)
FIRST = Incident(
    IncidentKind.DEPARTURE, at(10), at(21.9), (DIED,), (COST,),
    Shortage(1, "a-0", (STEP,), 2), (ControllerChange(Controller(2, 5, at(13.95)), 1),),
)  # fmt: skip
SECOND = Incident(IncidentKind.DEPARTURE, at(60.9), None, (STOPPED,))
UNCLEAN = UncleanElection(("a", 0, 0), 2, 1, (1,), Fact(at(14)), (LINE,))
STORY = (FIRST, SECOND)


def test_nothing_is_wrong_with_a_true_story() -> None:
    assert falsehoods(TRUTH, STORY) == []


@pytest.mark.parametrize(
    ("planted", "words"),
    [
        ({"broker": 3}, "broker 3 died"),
        ({"gone": Bound(at(10.1), at(10.2))}, "truly gone"),
        ({"gone": Fact(at(9))}, "truly gone"),
        ({"gone": Bound(None, at(9.9))}, "truly gone"),
        ({"gone": Bound(at(10.2), None)}, "truly gone"),
        ({"cause": Cause.UNKNOWN}, "the claimed cause"),
        ({"cause": Cause.STOPPED}, "the claimed cause"),
        ({"cause": Cause.LOST_SESSION}, "the claimed cause"),
        ({"was_controller": False}, "claimed that it was not the controller"),
        ({"noticed": Fact(at(9.9))}, "before it was gone"),
        ({"started": at(19)}, "started at"),
        ({"started": at(23)}, "started at"),
        ({"stopping": at(9)}, "began to stop"),
        ({"returned": Fact(at(19.9))}, "returned"),
        ({"returned": Bound(None, at(19))}, "returned"),
        ({"returned": Bound(at(22.1), None)}, "returned"),
    ],
    ids=str,
)
def test_a_false_claim_about_a_broker_is_found(planted: dict[str, object], words: str) -> None:
    told = replace(FIRST, absences=(replace(DIED, **planted),))  # type: ignore[arg-type]
    assert any(words in each for each in falsehoods(TRUTH, (told, SECOND)))


@pytest.mark.parametrize(
    ("planted", "words"),
    [
        ({"duration": Fact(seconds(5))}, "truly"),
        ({"duration": Bound(seconds(4.1), None)}, "truly"),
        ({"duration": Bound(None, seconds(3.9))}, "truly"),
        ({"duration": Bound(seconds(1), seconds(2))}, "truly"),
        ({"ending": Ending.RETURNED}, "returned"),
        ({"ending": Ending.ELECTED_AGAIN}, "elected again"),
        ({"leaders": (3,)}, "moved"),
        ({"partitions": ("a-0", "a-1")}, "a-1 moved"),
        ({"begin": at(9.9), "ending": Ending.NOT_SHOWN}, "no leader is claimed at"),
        ({"begin": at(15)}, "a-0 moved"),
        ({"leaders": (2, 3)}, "broker 3 is claimed to lead a-0"),
        ({"leaders": (3,), "ending": Ending.ELECTED}, "a-0 elected"),
        ({"times": 2}, "claimed to have had no leader 2 times"),
    ],
    ids=str,
)
def test_a_false_claim_about_a_cost_is_found(planted: dict[str, object], words: str) -> None:
    told = replace(FIRST, costs=(replace(COST, **planted),))  # type: ignore[arg-type]
    assert any(words in each for each in falsehoods(TRUTH, (told, SECOND)))


@pytest.mark.parametrize(
    ("planted", "words"),
    [
        ({"changes": (ControllerChange(Controller(3, 5, at(13.95)), 1),)}, "controller 3 in epoch 5"),
        ({"changes": (ControllerChange(Controller(2, 6, at(13.95)), 1),)}, "in epoch 6"),
        ({"changes": (ControllerChange(Controller(2, 5, at(13.8)), 1),)}, "in epoch 5"),
        ({"changes": (ControllerChange(Controller(2, 5, at(17)), 1),)}, "in epoch 5"),
        ({"changes": (ControllerChange(Controller(2, 5, at(13.95)), 3),)}, "follows 3"),
        ({"kind": IncidentKind.WHOLE_CLUSTER}, "whole cluster"),
        ({"kind": IncidentKind.NO_LEADER}, "no cause is named why a-0"),
        ({"kind": IncidentKind.CONTROLLER}, "no cause is named why broker 1 ceased"),
        ({"shortage": Shortage(1, "a-0", (STEP,), 1)}, "min.insync.replicas=1"),
        ({"shortage": Shortage(1, "a-0", (STEP._replace(size=1),), 2)}, "had 1 in sync"),
        ({"shortage": Shortage(1, "a-0", (STEP._replace(since=at(11)),), 2)}, "had 2 in sync from"),
        ({"shortage": Shortage(1, "a-0", (STEP._replace(until=at(30)),), 2)}, "had 2 in sync until"),
        (
            {"shortage": Shortage(1, "a-0", (STEP._replace(since=at(11), is_begun=False),), 2)},
            "had 2 in sync from",
        ),
        (
            {"shortage": Shortage(1, "a-0", (STEP._replace(since=at(40), is_begun=False),), 2)},
            "had 2 in sync from",
        ),
        ({"shortage": Shortage(1, "b-0", (STEP,), 2)}, "no such partition"),
        ({"absences": ()}, "missed: kill of broker 1"),
        ({"costs": ()}, "missed: a-0"),
        ({"absences": (STOPPED, DIED)}, "which went earlier"),
        ({"since": at(9.9)}, "is claimed since"),
        ({"until": at(19.9)}, "is claimed to be over"),
        ({"unclean": (UNCLEAN,)}, "an unclean election of broker 2"),
    ],
    ids=str,
)
def test_a_false_claim_about_an_incident_is_found(planted: dict[str, object], words: str) -> None:
    told = replace(FIRST, **planted)  # type: ignore[arg-type]
    assert any(words in each for each in falsehoods(TRUTH, (told, SECOND)))


@pytest.mark.parametrize(
    ("planted", "words"),
    [
        ({"returned": Fact(at(70))}, "claimed that it returned"),
        ({"started": at(70)}, "claimed that it returned"),
        ({"cause": Cause.DIED}, "the claimed cause"),
        ({"stopping": at(59)}, "began to stop"),
    ],
    ids=str,
)
def test_a_false_claim_about_a_stop_is_found(planted: dict[str, object], words: str) -> None:
    told = replace(SECOND, absences=(replace(STOPPED, **planted),))  # type: ignore[arg-type]
    assert any(words in each for each in falsehoods(TRUTH, (FIRST, told)))


def test_leaders_that_were_kept_deny_that_they_were_moved() -> None:
    truth = replace(TRUTH, departures=(KILL, replace(STOP, kept=("a-0",))))
    assert any("it still led a-0" in each for each in falsehoods(truth, STORY))


def test_of_two_replicas_that_stop_together_no_leader_can_be_moved() -> None:
    departures = (KILL, replace(STOP, kept=("a-0",)), replace(STOP, broker=3))
    pair = replace(TRUTH, departures=departures, in_sync={"a-0": (InSync(at(0), 2),)})
    assert not any("it still led" in each for each in falsehoods(pair, STORY))
    assert any(
        "it still led a-0" in each for each in falsehoods(replace(pair, departures=departures[:2]), STORY)
    )


def test_of_a_whole_cluster_that_stops_no_leader_can_be_moved() -> None:
    stop = replace(STOP, kept=("a-0",))
    others = tuple(replace(STOP, broker=broker) for broker in (1, 3))
    truth = replace(TRUTH, departures=(KILL, stop, *others))
    assert not any("it still led" in each for each in falsehoods(truth, STORY))
    truth = replace(TRUTH, departures=(KILL, stop, others[0]))
    assert any("it still led a-0" in each for each in falsehoods(truth, STORY))


def stops(*times: tuple[float, float]) -> tuple[Departure, ...]:
    """Stops of brokers 1, 2, ...: each is gone and back at these seconds, to the second."""
    return tuple(
        Departure(broker, Action.STOP, span(gone, gone + 1), span(back, back + 1), was_controller=None)
        for broker, (gone, back) in enumerate(times, 1)
    )


def told_of(departures: tuple[Departure, ...], kind: IncidentKind) -> Incident:
    members = tuple(
        replace(
            STOPPED, broker=each.broker, gone=Fact(each.gone.high), stopping=each.gone.low,
            returned=Fact(each.returned.high),
        )
        for each in departures
        if each.returned is not None
    )  # fmt: skip
    return Incident(kind, departures[0].gone.high, at(99), members)


def test_a_rolling_restart_is_none_if_two_were_gone_at_once() -> None:
    told, together = IncidentKind.ROLLING_RESTART, stops((60, 65), (62, 66), (70, 75))
    (wrong,) = falsehoods(Truth(together), (told_of(together, told),))
    assert wrong.startswith("a rolling restart is claimed; truly brokers 1 and 2 were gone at the same time")
    apart = stops((60, 65), (67, 70))
    assert falsehoods(Truth(apart), (told_of(apart, told),)) == []


def test_brokers_that_were_gone_one_after_the_other_were_not_gone_together() -> None:
    apart = stops((60, 65), (67, 70))
    told = told_of(apart, IncidentKind.SEVERAL)
    assert falsehoods(Truth(apart), (told,)) == []
    late = replace(told, absences=(replace(told.absences[0], returned=Fact(at(69))), told.absences[1]))
    wrong = falsehoods(Truth(apart), (late,))
    assert any("brokers 1 and 2 are claimed to be gone at overlapping times" in each for each in wrong)


def test_a_departure_that_cannot_be_told_apart_in_time_belongs_to_the_first_that_is_left() -> None:
    again = replace(KILL, gone=span(40, 40.01), returned=span(45, 46), was_controller=False, kept=())
    later = replace(
        DIED, gone=Bound(None, at(40.02)), noticed=Fact(at(43)), started=at(45.1), returned=Fact(at(45.9)),
        was_controller=False,
    )  # fmt: skip
    story = (replace(FIRST, absences=(DIED, later), until=at(45.9)), SECOND)
    assert falsehoods(replace(TRUTH, departures=(KILL, again, STOP)), story) == []
    assert any(
        "missed: kill" in each for each in falsehoods(replace(TRUTH, departures=(KILL, again, STOP)), STORY)
    )


def test_brokers_that_were_gone_while_a_third_one_was_were_gone_at_overlapping_times() -> None:
    long = stops((60, 90), (62, 66), (70, 75))
    told = replace(told_of(long, IncidentKind.SEVERAL), until=at(99))
    assert falsehoods(Truth(long), (told,)) == []


def test_a_leader_that_was_elected_need_not_have_led() -> None:
    elected = replace(COST, ending=Ending.ELECTED, duration=Bound(seconds(3.9), None))
    assert falsehoods(TRUTH, (replace(FIRST, costs=(elected,)), SECOND)) == []
    vain = Leaderless("a-0", 2, span(14, 14.05), 3, span(15, 15.05), is_due=False)
    whole = replace(TRUTH.leaderless[0], leader_after=3, end=vain.end)
    truth = replace(TRUTH, leaderless=(whole, vain))
    assert falsehoods(truth, (replace(FIRST, costs=(elected,)), SECOND)) == []
    led = replace(elected, ending=Ending.MOVED)
    assert any("a-0 moved" in each for each in falsehoods(truth, (replace(FIRST, costs=(led,)), SECOND)))


def test_an_isr_is_dated_by_a_leader_that_was_paused_when_it_goes_on() -> None:
    pause = Departure(2, Action.PAUSE, span(13.9, 13.91), span(22, 22.1), was_controller=False)
    late = replace(FIRST, shortage=Shortage(1, "a-0", (STEP._replace(since=at(21)),), 2))
    truth = replace(TRUTH, departures=(*TRUTH.departures, pause))
    wrong = falsehoods(truth, (late, SECOND))
    assert not any("in sync" in each for each in wrong)
    early = replace(pause, gone=span(1, 1.1), returned=span(9, 9.1))
    wrong = falsehoods(replace(truth, departures=(*TRUTH.departures, early)), (late, SECOND))
    assert any("had 2 in sync from" in each for each in wrong)


def test_an_unknown_is_never_false() -> None:
    assert contains(Unknown("no line"), span(1, 2))
    assert holds(Unknown("no line"), seconds(1), None)
    assert holds(Bound(seconds(1), None), seconds(0), None)
    assert not holds(Bound(None, seconds(9)), seconds(0), None)


DARK = Truth(
    departures=(),
    leaderless=(Leaderless("a-0", 1, span(30, 31), 2, span(31, 31.1)),),
    min_insync=2,
    disks=(FailedDisk(1, span(30, 40), ("a-0",)),),
)
FAILURE = BrokerLine(at(30.9), BrokerKind.DIRECTORY_FAILED, "broker", 1, 1, LINE)
MOVED = Cost(("a-0",), Bound(seconds(0.05), None), Ending.MOVED, (2,), 0, at(31), (), reason=FAILURE)
DISK_INCIDENT = Incident(IncidentKind.NO_LEADER, at(31), at(31.1), costs=(MOVED,), failures=(FAILURE,))


def test_a_directory_that_failed_is_the_cause() -> None:
    assert falsehoods(DARK, [DISK_INCIDENT]) == []


def test_a_lost_directory_must_be_named() -> None:
    unnamed = replace(DISK_INCIDENT, failures=(), costs=(replace(MOVED, reason=None),))
    (found,) = falsehoods(DARK, [unnamed])
    assert found == "no cause is named why a-0 had no leader"


def test_the_lost_directory_of_another_broker_is_no_cause() -> None:
    other = replace(MOVED, reason=FAILURE._replace(subject=2))
    (found,) = falsehoods(DARK, [replace(DISK_INCIDENT, costs=(other,))])
    assert found.startswith("broker 2 is named as the cause why a-0 had no leader")


@pytest.mark.parametrize("line", [FAILURE._replace(subject=2), FAILURE._replace(time=at(45))])
def test_a_directory_that_did_not_fail_is_no_cause(line: BrokerLine) -> None:
    found = falsehoods(DARK, [replace(DISK_INCIDENT, failures=(line,))])
    assert any("claimed to have lost a log directory" in each for each in found)


REFUSAL = Refusal("a", 0, 0, at(30.9), 1, LINE)


def test_a_refusal_of_a_broker_whose_directory_failed_is_the_cause() -> None:
    refused = replace(MOVED, reason=REFUSAL)
    told = replace(DISK_INCIDENT, failures=(), refusals=(REFUSAL,), costs=(refused,))
    assert falsehoods(DARK, [told]) == []


@pytest.mark.parametrize(
    "refusal", [REFUSAL._replace(broker=2), REFUSAL._replace(partition=1), REFUSAL._replace(time=at(29))]
)
def test_a_refusal_without_a_failed_directory_is_false(refusal: Refusal) -> None:
    found = falsehoods(DARK, [replace(DISK_INCIDENT, refusals=(refusal,))])
    assert any("claimed to have refused" in each for each in found)


def test_who_is_said_to_have_registered_again_was_gone_before() -> None:
    bounced = FAILURE._replace(kind=BrokerKind.BOUNCED_UNSEEN, role="controller")
    told = replace(DISK_INCIDENT, failures=(), bounces=(bounced,), costs=(replace(MOVED, reason=bounced),))
    gone = Departure(1, Action.KILL, span(28, 28.1), span(29, 29.1), was_controller=False)
    back = replace(DARK, departures=(gone,), disks=())
    wrong = "broker 1 is claimed to have registered again"
    assert not any(wrong in each for each in falsehoods(back, [told]))
    assert any(wrong in each for each in falsehoods(replace(back, departures=()), [told]))


def test_a_lost_directory_is_no_cause_for_a_partition_of_another_leader() -> None:
    other = Leaderless("b-0", 3, span(30, 31), 2, span(31, 31.1))
    gone = Departure(3, Action.KILL, span(30, 30.1), None, was_controller=False)
    story = [replace(DISK_INCIDENT, costs=(replace(MOVED, partitions=("a-0", "b-0")),))]
    found = falsehoods(replace(DARK, departures=(gone,), leaderless=(*DARK.leaderless, other)), story)
    assert any(each.startswith("broker 1 is named as the cause why b-0 had no leader") for each in found)


def test_partitions_cannot_lose_leaders_after_an_incident_began() -> None:
    early = replace(DISK_INCIDENT, since=at(29.9), costs=(replace(MOVED, begin=at(29.9)),))
    found = falsehoods(DARK, [replace(early, failures=(FAILURE._replace(time=at(30)),))])
    assert any("partitions are claimed to have lost their leaders by" in each for each in found)


def test_a_directory_that_is_back_is_no_cause_of_a_later_loss() -> None:
    late = replace(DARK, leaderless=(Leaderless("a-0", 1, span(50, 51), 2, span(51, 51.1)),))
    (found,) = falsehoods(late, [replace(DISK_INCIDENT, since=at(51), costs=(replace(MOVED, begin=at(51)),))])
    assert "claimed to have lost a log directory" in found


def test_what_no_line_shows_need_not_be_told() -> None:
    unseen = Leaderless("b-0", 1, span(50, 50.1), 2, span(53, 53.1), is_due=False)
    truth = replace(DARK, leaderless=(*DARK.leaderless, unseen))
    assert falsehoods(truth, [DISK_INCIDENT]) == []
    (found,) = falsehoods(replace(truth, leaderless=(replace(unseen, is_due=True),)), [])
    assert found.startswith("missed: b-0")


def test_what_is_said_to_be_unknown_is_not_missed() -> None:
    lost = Leaderless("b-0", 1, span(50, 50.1), 2, span(53, 53.1))
    truth = replace(DARK, leaderless=(*DARK.leaderless, lost))
    gap = Gap(("b", 0, 0), at(40), at(53.05), 1, ())
    unseen = Incident(IncidentKind.UNSEEN, at(40), at(53.05), gaps=(gap,))
    assert falsehoods(truth, [DISK_INCIDENT, unseen]) == []
    for other in (
        gap._replace(life=("b", 1, 0)),
        gap._replace(since=at(52.2)),
        gap._replace(until=at(52.9)),
    ):
        (found,) = falsehoods(truth, [DISK_INCIDENT, replace(unseen, gaps=(other,))])
        assert found.startswith("missed: b-0")


def test_no_cause_need_be_named_of_a_leader_that_is_unseen() -> None:
    lost = Leaderless("b-0", 1, span(50, 50.1), 2, span(50.2, 50.3))
    gone = Departure(1, Action.EXPIRE, span(50, 50.1), span(50.1, 50.4), was_controller=False)
    absence = replace(DIED, gone=Bound(None, at(50.1)), cause=Cause.LOST_SESSION, was_controller=False)
    absence = replace(absence, noticed=Unknown("no line"), started=None, returned=Bound(None, at(50.4)))
    left = Incident(IncidentKind.DEPARTURE, at(50.1), at(50.4), (absence,))
    cost = Cost(("b-0",), Bound(None, seconds(0.4)), Ending.MOVED, (2,), 0, at(50.25), ())
    told = Incident(IncidentKind.NO_LEADER, at(50.25), at(50.3), costs=(cost,))
    gap = Gap(("b", 0, 0), at(40), at(50.25), 1, ())
    unseen = Incident(IncidentKind.UNSEEN, at(40), at(50.25), gaps=(gap,))
    truth = Truth((gone,), (lost,))
    assert falsehoods(truth, [left, told, unseen]) == []
    assert falsehoods(truth, [left, told]) == ["no cause is named why b-0 had no leader"]


def test_of_two_ends_of_which_one_is_true_either_may_be_told() -> None:
    begin = span(30, 30.1)
    last = Leaderless("a-0", 1, begin, 2, span(35, 35.1))
    doubtful = Leaderless("a-0", 1, begin, 3, span(32, 32.1), is_due=False)
    rest = Leaderless("a-0", 3, span(32, 32.1), 2, span(35, 35.1), is_due=False)
    truth = replace(DARK, leaderless=(last, doubtful, rest))
    told = replace(DISK_INCIDENT, until=at(35), failures=())
    first = replace(MOVED, duration=Fact(seconds(2)), leaders=(3,))
    assert not any("missed" in each for each in falsehoods(truth, [replace(told, costs=(first,))]))
    both = replace(MOVED, duration=Bound(seconds(2), seconds(6)), leaders=(2, 3), times=2)
    assert not any("times" in each for each in falsehoods(truth, [replace(told, costs=(both,))]))
    thrice = replace(both, times=3)
    assert any("3 times" in each for each in falsehoods(truth, [replace(told, costs=(thrice,))]))
    assert any("missed" in each for each in falsehoods(truth, []))


def test_an_outage_may_be_told_from_an_election_in_vain_at_its_begin() -> None:
    whole = Leaderless("a-0", 3, span(30, 30.9), 2, span(35, 35.1))
    part = Leaderless("a-0", 1, span(30.9, 31), 2, span(35, 35.1), is_due=False)
    told = replace(DISK_INCIDENT, until=at(35), costs=(replace(MOVED, duration=Bound(seconds(4), None)),))
    assert falsehoods(replace(DARK, leaderless=(whole, part)), [told]) == []
    early = replace(whole, begin=span(29, 30))
    exact = replace(told, costs=(replace(told.costs[0], duration=Bound(seconds(4), seconds(4.3))),))
    (found,) = falsehoods(replace(DARK, leaderless=(early, part)), [exact])
    assert found.startswith("missed: a-0 without leader after 3")


@pytest.mark.parametrize(
    ("cause", "is_true"), [(Cause.LOST_SESSION, True), (Cause.UNKNOWN, True), (Cause.DIED, False)]
)
def test_who_is_silent_for_good_may_be_lost_for_unknown_reasons_but_has_not_died(
    cause: Cause, is_true: bool
) -> None:
    pause = Departure(1, Action.PAUSE, span(10, 10.01), None, was_controller=True)
    absence = replace(DIED, cause=cause, started=None, returned=Unknown("no line"))
    found = falsehoods(Truth((pause,)), [Incident(IncidentKind.DEPARTURE, at(10.02), None, (absence,))])
    assert (found == []) is is_true


def test_a_controller_that_no_line_names_is_unseen() -> None:
    truth = replace(TRUTH, controllers=(Tenure(1, 4, at(0)), Tenure(3, 5, at(13)), Tenure(2, 6, at(13.9))))
    change = ControllerChange(Controller(2, 6, at(13.95)), 1)
    rest = replace(FIRST, changes=(change._replace(unseen=1),))
    story = [rest, *STORY[1:]]
    assert falsehoods(truth, story) == []
    assert any(
        "follows 1" in each for each in falsehoods(truth, [replace(rest, changes=(change,)), *STORY[1:]])
    )


def test_a_leader_may_follow_itself_if_it_is_not_said_who_led_before() -> None:
    again = replace(DARK, disks=(), leaderless=(replace(DARK.leaderless[0], leader_after=1),))
    told = replace(DISK_INCIDENT, failures=(), costs=(replace(MOVED, leaders=(1,), reason=None),))
    assert falsehoods(again, [told]) == []
    named = replace(told, kind=IncidentKind.DEPARTURE, absences=(DIED,))
    assert any("a-0 moved" in each for each in falsehoods(again, [named]))


def test_an_isr_that_no_line_shows_to_have_begun_may_have_held_before() -> None:
    step = STEP._replace(since=at(22), until=at(23))
    short = replace(FIRST, shortage=Shortage(1, "a-0", (step._replace(is_begun=False),), 2))
    assert falsehoods(TRUTH, (short, SECOND)) == []
    whole = replace(FIRST, shortage=Shortage(1, "a-0", (step._replace(size=3, since=at(90), until=None),), 2))
    assert falsehoods(TRUTH, (whole, SECOND)) != []
