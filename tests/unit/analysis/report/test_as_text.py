"""The report for a terminal."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from barnabas.analysis.questions.audit import TWO_CONTROLLERS
from barnabas.analysis.report.as_text import summary, text
from barnabas.analysis.report.document import Document, Row
from tests.unit.analysis.report.conftest import CONDITION


def section(document: Document, title: str) -> list[str]:
    lines = list(text(document))
    begin = lines.index(title) + 1
    return [line.removeprefix("  ") for line in lines[begin : lines.index("", begin)]]


def test_the_first_lines_say_what_matters(document: Document) -> None:
    assert list(summary(document)) == [
        (
            "Broker 1, the controller, died; orders-3 had no leader for at most 2 min 39 s. "
            "The cluster noticed the loss of broker 1 at 03:12:08.010."
        ),
        "1 partition had no leader, the longest for at least 2 min 32 s.",
        "Read 60 lines of 3 brokers, 2026-11-21 03:00:00.000 to 03:15:00.000.",
        "server.log: 8 lines carry a condition, 990 are routine, 2 unknown.",
        "state-change.log: 1 line carries a condition, 58 are routine, 1 unknown.",
        "Times are UTC; the logs' were read as UTC (--time-zone).",
        "Clocks differ: broker 3 at least 20 ms behind 1. Partitions are ordered by epoch and zkVersion.",
        "Safety audit: All 8 checks passed.",
    ]


def test_conditions_come_first_then_changes_cost_tables_and_the_audit(document: Document) -> None:
    shown = replace(document, conditions=[CONDITION])
    assert [line for line in text(shown) if line and not line.startswith(" ")] == [
        "Conditions", "Changes, in order of time", "Cost",
        "Controllers, brokers and partitions, in order of time", "Requests of the controller",
        "Restless brokers", "Logs", "Unknown lines", "Safety audit", "What was read",
    ]  # fmt: skip
    assert section(shown, "Conditions") == [
        "now: Broker 4 acts as leader with a stale version.",
        "  From 03:12 to 03:13, 2 lines.",
        "  Its ISR changes did not happen. Restart it. (KAFKA-2729)",
        "    broker-2/state-change.log:7  [2026-11-21 03:12:08,010] <lost>",
    ]
    assert next(iter(summary(shown))) == (
        "Broker 4 acts as leader with a stale version. From 03:12 to 03:13, 2 lines."
    )


def test_conditions_that_can_wait_come_after_incidents(document: Document) -> None:
    soon = CONDITION | {"alarm": "soon", "text": "Broker 4 lost its session with ZooKeeper."}
    never = CONDITION | {"alarm": "nobody", "text": "A reassignment of partition orders-3 was running."}
    first, second, *others = summary(replace(document, conditions=[soon, never]))
    assert first.startswith("Broker 1, the controller, died")
    assert second == "Broker 4 lost its session with ZooKeeper."
    assert not any("reassignment" in line for line in others)


def test_of_many_conditions_the_first_have_a_sentence_and_the_rest_is_counted(document: Document) -> None:
    many = [CONDITION | {"text": f"Broker {number} is stale."} for number in range(9)]
    lines = list(summary(replace(document, conditions=many)))
    assert [line[:18] for line in lines[3:5]] == ["Broker 3 is stale.", "5 more conditions "]


def test_the_worst_incidents_are_told_once_in_order_of_time(document: Document) -> None:
    (worst,) = document.incidents
    early = worst | {"text": "Early.", "severity": "info", "since": worst["since"] - timedelta(minutes=9)}
    shown = replace(document, incidents=[worst, early, *[worst | {"text": "Again."}] * 10])
    told = section(shown, "Changes, in order of time")
    assert told[:2] == ["info: Early.", "    broker-2/state-change.log:7  [2026-11-21 03:12:08,010] <lost>"]
    assert told[4:8] == [
        "critical: Broker 1, the controller, died; orders-3 had no leader for at most 2 min 39 s.",
        "    broker-2/state-change.log:7  [2026-11-21 03:12:08,010] <lost>",
        "  The cluster noticed the loss of broker 1 at 03:12:08.010.",
        "    broker-2/state-change.log:7  [2026-11-21 03:12:08,010] <lost>",
    ]
    assert told[-1] == "These are the worst; 2 incidents more in report.html."
    assert "".join(text(shown)).count(worst["text"]) == 1


def test_the_cost_counts_partitions_and_unclean_elections(document: Document) -> None:
    (incident,) = document.incidents
    unclean = [{"partition": "orders-3", "leader": 2}] * 2
    dirty = incident | {"unclean_elections": unclean}
    assert section(replace(document, incidents=[incident, dirty]), "Cost") == [
        "1 partition had no leader, the longest for at least 2 min 32 s.",
        "2 leaders not in sync were elected: records may be lost.",
    ]


def test_findings_of_the_audit_are_few_and_counted(document: Document, finding: Row) -> None:
    mixed = finding | {"check": TWO_CONTROLLERS, "topic": None, "detail": "controllers 1 and 2 in epoch 7"}
    found = replace(
        document,
        answers={**document.answers, "safety_audit": [finding, mixed]},
        counts={**document.counts, "safety_audit": 2},
    )
    told = section(found, "Safety audit")
    assert told[0] == (
        "2 findings; mixed logs of several clusters, or of one that was set up again, look the same."
    )
    assert told[1] == (
        "two leaders in one epoch: torn-0 leaders 1 and 2 in leader epoch 6, 2026-11-21 03:01:00.000"
    )


def test_the_timeline_holds_controllers_brokers_leaders_and_isr(document: Document) -> None:
    internal = [row | {"topic": "__consumer_offsets"} for row in document.leaderships[:1]]
    shown = replace(document, leaderships=[*internal, *document.leaderships])
    assert section(shown, "Controllers, brokers and partitions, in order of time") == [
        "03:00:00.000  controller  broker 1 is controller, epoch 7",
        "03:00:00.000  leader      orders-3, __consumer_offsets-3: 1 elected (epoch 0): new partition",
        "03:09:00.000  ISR         orders-3: 1 of 3 in sync, 2 and 3 out at the latest",
        "03:12:08.000  controller  broker 2 is controller, epoch 8",
        "03:12:08.000  leader      orders-3: no leader (epoch 1), after 1",
        "03:12:08.010  broker      broker 1 left, at this time or before: died",
        "03:14:40.400  leader      orders-3: 1 elected (epoch 2): there was no leader before",
        "... and 3 partitions more, in the tables leaders and isr",
    ]


def test_logs_of_more_than_one_day_are_shown_with_the_days(document: Document) -> None:
    assert document.start is not None
    early = replace(document, start=document.start - timedelta(days=1))
    told = section(early, "What was read")
    assert told[0].endswith("2026-11-20 03:00:00.000 to 2026-11-21 03:15:00.000.")
    first, *_ = section(early, "Controllers, brokers and partitions, in order of time")
    assert first.startswith("2026-11-21 03:00:00.000  controller")


def test_what_could_not_be_read_is_named(document: Document) -> None:
    told = list(summary(replace(document, troubles=[f"a{number}: torn" for number in range(9)])))
    assert "Could not read all of a0: torn." in told
    assert "Nor of 4 others: see the table files." in told


def test_a_clock_that_may_be_ahead_is_named(document: Document) -> None:
    row = document.answers["clock_skew"][0] | {"behind_ms": 0, "ahead_ms": 10_800_020}
    told = list(summary(replace(document, answers={**document.answers, "clock_skew": [row]})))
    assert any(line.startswith("Clocks differ: broker 3 perhaps 3 h 0 min ahead of 1.") for line in told)


def test_times_that_occurred_twice_are_called_ambiguous(document: Document) -> None:
    in_autumn = {"start": datetime(2026, 10, 24), "end": datetime(2026, 10, 26), "zone": "Europe/Berlin"}  # noqa: DTZ001
    (told,) = (line for line in summary(replace(document, **in_autumn)) if "twice" in line)
    assert told == (
        "The times of 2026-10-25 from 02:00 to 03:00 occurred twice in Europe/Berlin: where they go back "
        "within a file, they count as the second, else as the first, which is not certain."
    )
    for zone in ("UTC", "UTC+02:00", "Asia/Tokyo"):
        assert "twice" not in "".join(summary(replace(document, **in_autumn | {"zone": zone})))


def test_nothing_is_said_of_what_is_not_there(document: Document) -> None:
    empty = Document(start=None, end=None, lines=0, answers=dict.fromkeys(document.answers, ()), counts={})
    assert list(text(empty)) == [
        "Changes, in order of time", "  The logs do not show who led any partition.", "",
        "Safety audit", "  All 8 checks passed.", "",
        "What was read", "  Read 0 lines of 0 brokers.",
        "  Times are UTC; the logs' were read as UTC (--time-zone).", "",
    ]  # fmt: skip
