"""The report for a terminal."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from barnabas.analysis.derived.unavailability import NOBODY_IN_SYNC
from barnabas.analysis.questions.audit import TWO_CONTROLLERS
from barnabas.analysis.report.as_text import summary, text
from barnabas.analysis.report.document import Document


def test_the_first_lines_say_what_matters(document: Document) -> None:
    assert list(summary(document)) == [
        "Broker 1, the controller, died; orders-3 had no leader for at most 2 min 39 s.",
        "Clocks differ: broker 3 at least 20 ms behind 1. Partitions are ordered by epoch and zkVersion.",
        "Read 60 lines of 3 brokers, 2026-11-21 03:00:00.000 to 03:15:00.000.",
        "server.log: 80.00 % of 10 lines understood, 990 lines that no question needs.",
        "state-change.log: 98.33 % of 60 lines understood.",
        "Times are UTC; the logs' were read as UTC (--time-zone).",
        "Controllers: broker 1 (epoch 7), broker 2 (epoch 8).",
        "Safety audit: all 8 checks passed.",
    ]


def test_a_clock_that_may_be_ahead_is_named(document: Document) -> None:
    row = document.answers["clock_skew"][0] | {"behind_ms": 0, "ahead_ms": 10_800_020}
    told = list(summary(replace(document, answers={**document.answers, "clock_skew": [row]})))
    assert told[1].startswith("Clocks differ: broker 3 perhaps 3 h 0 min ahead of 1.")


def test_a_finding_of_the_audit_is_loud(document: Document, finding: dict[str, Any]) -> None:
    found = replace(
        document,
        answers={**document.answers, "safety_audit": [finding]},
        counts={**document.counts, "safety_audit": 1},
    )
    assert list(summary(found))[-2:] == [
        "SAFETY AUDIT: 1 finding.",
        "  two leaders in one epoch: torn-0 leaders 1 and 2 in leader epoch 6, 2026-11-21 03:01:00.000",
    ]


def test_findings_that_are_not_shown_are_counted(document: Document, finding: dict[str, Any]) -> None:
    many = replace(
        document,
        answers={**document.answers, "safety_audit": [finding] * 12},
        counts={**document.counts, "safety_audit": 12},
    )
    told = list(summary(many))
    assert (told[-12], told[-1]) == (
        "SAFETY AUDIT: 12 findings.",
        "  ... and 2 findings more, in report.json",
    )


def test_what_may_be_the_mixing_of_clusters_is_called_so(document: Document, finding: dict[str, Any]) -> None:
    mixed = finding | {"check": TWO_CONTROLLERS, "topic": None, "detail": "controllers 1 and 2 in epoch 7"}
    answers = {**document.answers, "safety_audit": [finding, mixed]}
    told = list(summary(replace(document, answers=answers)))
    audit = next(index for index, line in enumerate(told) if line.startswith("SAFETY AUDIT"))
    assert told[audit + 1].strip().startswith("(Mixed logs of several clusters")


def test_the_timeline_holds_controllers_brokers_leaders_and_isr(document: Document) -> None:
    lines = list(text(document))
    begin = lines.index("Timeline") + 1
    assert lines[begin : lines.index("Failovers") - 1] == [
        "  03:00:00.000  controller  broker 1 is controller, epoch 7",
        "  03:00:00.000  leader      orders-3: 1 elected (epoch 0): new partition",
        "  03:09:00.000  ISR         orders-3: 1 of 3 in sync, 2 and 3 out at the latest",
        "  03:12:08.000  controller  broker 2 is controller, epoch 8",
        "  03:12:08.000  leader      orders-3: no leader (epoch 1): 1 went offline",
        "  03:12:08.010  broker      broker 1 left, at this time or before: died",
        "  03:14:40.400  leader      orders-3: 1 elected (epoch 2): leader was offline",
        "  ... and 3 partitions more, in the tables leaders and isr",
    ]


def test_failovers_show_how_long_each_step_took(document: Document) -> None:
    lines = list(text(document))
    assert "    03:12:08.000        +6.0 s  broker 2 became controller, epoch 8" in lines
    assert (
        "    03:12:08.009                the last of their followers followed, by a clock that is behind"
        in lines
    )
    assert lines[-1].startswith("  LeaderAndIsr: ")


def test_logs_of_more_than_one_day_are_shown_with_the_days(document: Document) -> None:
    assert document.start is not None
    lines = list(text(replace(document, start=document.start - timedelta(days=1))))
    assert lines[2].endswith("2026-11-20 03:00:00.000 to 2026-11-21 03:15:00.000.")
    begin = lines.index("Timeline") + 1
    assert lines[begin : begin + 2] == [
        "  2026-11-21",
        "  03:00:00.000  controller  broker 1 is controller, epoch 7",
    ]
    assert lines[lines.index("Failovers") + 1].startswith("  2026-11-21  Broker 1, the controller")


def test_what_could_not_be_read_or_was_not_needed_is_named(document: Document) -> None:
    told = list(summary(replace(document, troubles=[f"a{number}: torn" for number in range(9)])))
    assert told[6] == "Could not read all of a0: torn."
    assert told[11] == "Nor of 4 others: see the table files."


def test_each_sentence_of_an_incident_has_the_lines_that_prove_it(document: Document) -> None:
    lines = list(text(document))
    begin = lines.index("Incidents, and the lines that prove them")
    assert lines[begin + 1 : begin + 5] == [
        "  Broker 1, the controller, died; orders-3 had no leader for at most 2 min 39 s.",
        "      broker-2/state-change.log:7  [2026-11-21 03:12:08,010] <lost>",
        "    The cluster noticed the loss of broker 1 at 03:12:08.010.",
        "      broker-2/state-change.log:7  [2026-11-21 03:12:08,010] <lost>",
    ]


def test_without_the_lost_leader_s_log_no_bound_is_claimed(document: Document) -> None:
    (row,) = document.answers["partitions_without_leader"]
    answers = {**document.answers, "partitions_without_leader": [row | {"at_most_ms": None}]}
    lines = list(text(replace(document, answers=answers)))
    begin = lines.index("Partitions without a leader")
    assert lines[begin + 2].split() == ["orders-3", "1", "2", "min", "32", "s", "?", *NOBODY_IN_SYNC.split()]


def test_the_title_of_a_failover_says_what_is_a_bound(document: Document) -> None:
    lines = list(text(document))
    assert lines[lines.index("Failovers") + 1] == (
        "  Broker 1, the controller, died; 2 partitions had no leader; "
        "40 ms from the notice to the last new leader of 1 partition, at most 6.1 s in all; "
        "1 partition waited for broker 1 until 2 min 33 s after the notice"
    )
    assert lines[lines.index("Failovers") + 2] == (
        "      broker-2/state-change.log:7  [2026-11-21 03:12:08,010] <lost>"
    )


def test_times_of_another_day_have_their_date(document: Document) -> None:
    (story,) = document.answers["failovers"]
    day = timedelta(days=1)
    answers = {
        **document.answers,
        "failovers": [story | {"last_logged": story["last_logged"] - day}],
    }
    assert document.start is not None
    lines = list(text(replace(document, start=document.start - day, answers=answers)))
    last = "the last line of broker 1 before the controller noticed"
    assert f"    2026-11-20 03:12:02.000                {last}" in lines
    assert any(line.split()[4:6] == ["2026-11-21", "03:14:40.500"] for line in lines)


def test_nobody_is_named_who_is_not_known_to_have_led(document: Document) -> None:
    leaderships = [row | {"previous_leader": None} for row in document.leaderships if row["leader"] < 0]
    lines = list(text(replace(document, leaderships=leaderships)))
    assert (
        "  03:12:08.000  leader      orders-3: no leader (epoch 1): it is not known who led it before"
        in lines
    )


def test_the_zone_of_the_logs_is_shown(document: Document) -> None:
    told = list(summary(replace(document, zone="Europe/Berlin")))
    assert "Times are UTC; the logs' were read as Europe/Berlin (--time-zone)." in told


def test_times_that_occurred_twice_are_called_ambiguous(document: Document) -> None:
    in_autumn = {"start": datetime(2026, 10, 24), "end": datetime(2026, 10, 26), "zone": "Europe/Berlin"}  # noqa: DTZ001
    (told,) = (line for line in summary(replace(document, **in_autumn)) if "twice" in line)
    assert told == (
        "The times of 2026-10-25 from 02:00 to 03:00 occurred twice in Europe/Berlin: where they go back "
        "within a file, they count as the second, else as the first, which is not certain."
    )
    for zone in ("UTC", "UTC+02:00", "Asia/Tokyo"):
        assert "twice" not in "".join(summary(replace(document, **in_autumn | {"zone": zone})))


def test_nothing_is_said_of_what_is_not_there() -> None:
    nothing = dict.fromkeys(
        (
            "brokers", "controller_epochs", "partitions_without_leader", "clock_skew", "safety_audit",
            "failovers",
            "departures", "slowest_leader_and_isr", "flapping_brokers", "not_understood",
        ),
        (),
    )  # fmt: skip
    empty = Document(start=None, end=None, lines=0, understood=0, answers=nothing, counts={})
    lines = list(text(empty))
    assert lines[:2] == ["The logs do not show who led any partition.", "Read 0 lines of 0 brokers."]
    assert "Timeline" not in lines
