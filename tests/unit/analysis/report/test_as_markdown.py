"""The post-mortem: every value with its certainty, and nothing of the logs taken for markup."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from barnabas.analysis.report.as_markdown import certainly, markdown
from barnabas.analysis.report.document import Document

NOON = datetime(2026, 11, 21, 12)  # noqa: DTZ001


def test_the_worst_incident_as_a_post_mortem(document: Document) -> None:
    (incident,) = document.incidents
    cost = {
        "partitions": ["__consumer_offsets-1", "orders-3"], "ending": "returned", "leaders": [1],
        "duration_ms": {"certainty": "bound", "at_least": 152_530.4, "at_most": 158_530.6},
        "failed_elections": 2,
    }  # fmt: skip
    told = markdown(replace(document, incidents=[incident | {"costs": [cost]}])).splitlines()
    assert told[0] == "# Post-mortem: broker 1 left, by 2026-11-21 03:12:08.010"
    assert "- Began at or before 2026-11-21 03:12:08.010." in told
    assert (
        "- All of its brokers were back at or before 2026-11-21 03:14:40.530; how long partitions had no "
        "leader, and too few replicas in sync, is below."
    ) in told
    assert told[2] == "Broker 1, the controller, died; orders-3 had no leader for at most 2 min 39 s."
    assert "- Severity: critical" in told
    assert "- The cluster noticed the loss of broker 1 at 03:12:08.010." in told
    assert (
        "| 1 | died | after 2026-11-21 03:12:02.000, at or before 2026-11-21 03:12:08.010 (bound) "
        "| 2026-11-21 03:12:08.010 (fact) | unknown: no line shows that it returned |"
    ) in told
    assert (
        r"| \_\_consumer\_offsets-1, orders-3 | at least 2 min 32 s, at most 2 min 39 s (bound) "
        "| returned, led by 1, failed elections: 2 |"
    ) in told
    # The line is there once, although two sentences have it, and as code.
    assert told.count("    broker-2/state-change.log:7  [2026-11-21 03:12:08,010] <lost>") == 1
    assert told.count("_To be written: the logs do not know it._") == 4


IS_BELOW = "; how long partitions had no leader, and too few replicas in sync, is below."


@pytest.mark.parametrize(
    ("absent", "is_over", "expected"),
    [
        (True, False, f"No line shows that all of its brokers were back{IS_BELOW}"),
        (False, True, "Over by 2026-11-21 03:14:40.530, as lines show."),
        (False, False, "No line shows when it was over."),
    ],
)
def test_an_end_that_no_line_shows_is_not_stated(
    document: Document, expected: str, *, absent: bool, is_over: bool
) -> None:
    (incident,) = document.incidents
    own = {
        "absences": incident["absences"] if absent else [],
        "until": incident["until"] if is_over else None,
    }
    told = markdown(replace(document, incidents=[incident | own]))
    assert f"\n- {expected}\n" in told


@pytest.mark.parametrize("ending", ["elected", "elected again"])
def test_who_was_elected_is_not_said_to_have_led(document: Document, ending: str) -> None:
    (incident,) = document.incidents
    cost = {
        "partitions": ["orders-3"], "ending": ending, "leaders": [2, 3], "failed_elections": 0,
        "duration_ms": {"certainty": "bound", "at_least": 3_000.0, "at_most": None},
    }  # fmt: skip
    told = markdown(replace(document, incidents=[incident | {"costs": [cost]}]))
    assert f"| orders-3 | at least 3.0 s (bound) | {ending}: 2, 3 (no line shows who led) |" in told


def test_without_an_incident_it_says_so(document: Document) -> None:
    assert markdown(replace(document, incidents=[])).startswith("No line of these logs shows")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"certainty": "fact", "value": 1_234.0}, "1.2 s (fact)"),
        ({"certainty": "bound", "at_least": None, "at_most": 1_234.0}, "at most 1.3 s (bound)"),
        ({"certainty": "bound", "at_least": 1_299.0, "at_most": None}, "at least 1.2 s (bound)"),
        (
            {"certainty": "bound", "at_least": None, "at_most": NOON},
            "at or before 2026-11-21 12:00:00.000 (bound)",
        ),
        ({"certainty": "unknown", "why": "no <line>"}, r"unknown: no \<line\>"),
    ],
)
def test_each_certainty_has_its_words(value: dict[str, Any], expected: str) -> None:
    assert certainly(value) == expected
