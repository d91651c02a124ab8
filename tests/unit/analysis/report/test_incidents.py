"""How bad an incident is, and where a line is, as the report says it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from barnabas.analysis.report.incidents import place, plain, severity
from barnabas.analysis.story.absence import Absence
from barnabas.analysis.story.causes import Cause
from barnabas.analysis.story.certainty import Bound, Fact, Line, Unknown
from barnabas.analysis.story.costs import Cost, Ending
from barnabas.analysis.story.incident import Incident, IncidentKind

AT = datetime.fromisoformat("2026-11-25T22:31:00")


def stopped(broker: int, gone: int, returned: int, cause: Cause = Cause.PLANNED) -> Absence:
    """A stop and the return, in seconds."""
    end, back = (Fact(AT + timedelta(seconds=each)) for each in (gone, returned))
    return Absence(
        broker, end, cause, None, has_own_log=True, noticed=Unknown("no controller saw it"), started=None,
        returned=back,
    )  # fmt: skip


COST = Cost(("a-0",), Unknown("the clocks differ"), Ending.RETURNED, (3,), 0, AT, ())
ONE, TWO, THREE = stopped(1, 0, 9), stopped(2, 1, 8), stopped(3, 2, 7, Cause.NOT_GRANTED)


@pytest.mark.parametrize(
    ("kind", "absences", "expected"),
    [
        (IncidentKind.DEPARTURE, [ONE], "warning"),
        (IncidentKind.DEPARTURE, [stopped(1, 0, 9, Cause.DIED)], "critical"),
        (IncidentKind.ROLLING_RESTART, [ONE, stopped(2, 10, 12)], "warning"),
        # All brokers of the cluster, whether or not clocks that differ let the story say that it was all.
        (IncidentKind.WHOLE_CLUSTER, [ONE, TWO, THREE], "critical"),
        (IncidentKind.WHOLE_CLUSTER, [ONE], "critical"),
        (IncidentKind.SEVERAL, [ONE, THREE], "critical"),
        (IncidentKind.SEVERAL, [ONE, stopped(2, 10, 12)], "warning"),
    ],
)
def test_stops_that_leave_partitions_without_a_leader_are_planned_one_at_a_time(
    kind: IncidentKind, absences: list[Absence], expected: str
) -> None:
    incident = Incident(kind, AT, None, absences=tuple(absences), costs=(COST,))
    assert severity(incident) == expected
    free = Incident(kind, AT, None, absences=tuple(absences))
    assert severity(free) == ("info" if all(each.cause != Cause.DIED for each in absences) else "warning")


def test_users_topics_come_before_internal_ones() -> None:
    cost = replace(COST, partitions=("__consumer_offsets-0", "a-0"))
    (row,) = plain([Incident(IncidentKind.NO_LEADER, AT, None, costs=(cost,))], None)
    assert row["costs"][0]["partitions"] == ["a-0", "__consumer_offsets-0"]


def test_begin_and_end_say_how_certain_they_are() -> None:
    low, high = AT - timedelta(seconds=2), AT + timedelta(seconds=9)
    died = replace(ONE, gone=Bound(low, AT), cause=Cause.DIED, returned=Bound(AT, high))
    back = replace(TWO, returned=Unknown("no line shows that it returned"))
    seen = [
        Incident(IncidentKind.DEPARTURE, AT, high, absences=(died,)),
        Incident(IncidentKind.SEVERAL, AT, None, absences=(died, back)),
        Incident(IncidentKind.NO_LEADER, AT, high, costs=(COST,)),
        Incident(IncidentKind.NO_LEADER, AT, high, costs=(replace(COST, ending=Ending.ELECTED),)),
    ]
    found = [(row["began"], row["ended"]) for row in plain(seen, None)]
    begun = {"certainty": "bound", "at_least": low, "at_most": AT}
    assert found == [
        (begun, {"certainty": "bound", "at_least": AT, "at_most": high}),
        (begun, {"certainty": "unknown", "why": "no line shows that it ended"}),
        (
            {"certainty": "bound", "at_least": None, "at_most": AT},
            {"certainty": "bound", "at_least": None, "at_most": high},
        ),
        (
            {"certainty": "bound", "at_least": None, "at_most": AT},
            {
                "certainty": "unknown",
                "why": "the last line shows an election, and none shows that its leader led",
            },
        ),
    ]


@pytest.mark.parametrize(
    ("source", "block", "expected"),
    [
        ("file:///a/broker-1/server.log", 0, "broker-1/server.log:7"),
        ("file:///a/broker-1/logs/server.log", 0, "broker-1/logs/server.log:7"),
        ("hdfs://n/a/kafka%201/log/server.log", 4096, "kafka 1/log/server.log, line 7 from byte 4096"),
        ("file:///logs/server.log", 0, "logs/server.log:7"),
        ("standard input", 0, "standard input:7"),
    ],
)
def test_a_place_names_the_folder_above_one_that_all_brokers_have(source, block, expected):
    assert place(Line(source, block, 7, "x")) == expected
