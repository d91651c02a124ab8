"""The sentences on top of a report: those of the worst incidents, and what the others are."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from barnabas.analysis.report.document import Document
from barnabas.analysis.report.first_sentences import happened
from barnabas.analysis.report.incidents import INCIDENTS, left_out
from barnabas.analysis.story.incident import Incident, IncidentKind

AT = datetime.fromisoformat("2026-11-21T03:12:08")


def with_incidents(document: Document, number: int, *, alike: bool = False) -> Document:
    """Incidents an hour apart, the latest first, each of a broker of its own unless they are alike."""
    (incident,) = document.incidents
    many: list[dict[str, Any]] = [
        incident
        | {"text": f"{index}.", "details": [], "since": AT - timedelta(hours=index),
           "absences": [{**incident["absences"][0], "broker": 1 if alike else index}]}
        for index in range(number)
    ]  # fmt: skip
    return replace(document, incidents=many, incidents_count=number, start=AT - timedelta(days=30))


@pytest.mark.parametrize(
    ("number", "expected"),
    [(5, []), (6, ["1 more incident is in the report."]), (12, ["7 more incidents are in the report."])],
)
def test_the_worst_incidents_stand_on_top_and_the_others_are_counted(
    document: Document, number: int, expected: list[str]
) -> None:
    assert list(happened(with_incidents(document, number))) == ["0.", "1.", "2.", "3.", "4.", *expected]


def test_many_incidents_that_are_alike_share_a_sentence(document: Document) -> None:
    first, like = happened(with_incidents(document, 300, alike=True))
    assert first == "0."
    assert like == (
        "299 more incidents are like it (broker 1: died), the first by 2026-11-08 16:12:08.000, the last by "
        "2026-11-21 02:12:08.000."
    )


def test_few_incidents_that_are_alike_each_have_their_sentence(document: Document) -> None:
    told = list(happened(with_incidents(document, 5, alike=True)))
    assert told == ["0.", "1.", "2.", "3.", "4."]


def test_what_is_not_alike_is_not_counted_as_such(document: Document) -> None:
    alike = with_incidents(document, 7, alike=True)
    unclean, controller, lost, out, *others = alike.incidents
    (absence,) = controller["absences"]
    mixed = [
        unclean | {"unclean_elections": [{"partition": "orders-3"}]},
        controller | {"absences": [absence | {"was_controller": False}]},
        lost | {"absences": [absence | {"cause": "was lost"}]},
        out | {"absences": [], "kind": "replicas out of sync"},
        *others,
    ]
    *told, like = happened(replace(alike, incidents=mixed))
    assert told == ["0.", "1.", "2.", "3.", "4."]
    assert like == (
        "2 more incidents are like it (broker 1: died), the first by 2026-11-20 21:12:08.000, the last by "
        "2026-11-20 22:12:08.000."
    )


def test_incidents_that_the_report_lacks_are_counted_with_their_times(document: Document) -> None:
    hours = (timedelta(hours=index) for index in range(INCIDENTS + 3))
    made = [Incident(IncidentKind.CONTROLLER, AT - each, None) for each in hours]
    assert left_out(made[:INCIDENTS]) == {}
    left = left_out(made)
    held = with_incidents(document, INCIDENTS, alike=True)
    told = list(happened(replace(held, incidents_count=len(made), incidents_left=left)))
    (lacks,) = told[2:]
    assert lacks == (
        f"The report holds the {INCIDENTS} worst incidents; 3 others, the first by 2026-10-31 05:12:08.000 "
        "and the last by 2026-10-31 07:12:08.000, are not in it: give fewer logs to see them."
    )
