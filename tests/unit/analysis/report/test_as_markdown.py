"""The post-mortem, in which nothing of the logs is taken for markup."""

from __future__ import annotations

from dataclasses import replace

import pytest

from barnabas.analysis.report.as_markdown import markdown
from barnabas.analysis.report.document import Document


def test_the_worst_incident_as_a_post_mortem(document: Document) -> None:
    (incident,) = document.incidents
    marked = {"text": "In sync: __consumer_offsets-1.", "lines": [], "more_lines": 0}
    details = [*incident["details"], marked]
    told = markdown(replace(document, incidents=[incident | {"details": details}])).splitlines()
    assert told[0] == "# Post-mortem: broker 1 left, by 2026-11-21 03:12:08.010"
    assert "- Began at or before 2026-11-21 03:12:08.010." in told
    assert (
        "- All of its brokers were back at or before 2026-11-21 03:14:40.530; how long partitions had no "
        "leader, and too few replicas in sync, is below."
    ) in told
    assert told[2] == "Broker 1, the controller, died; orders-3 had no leader for at most 2 min 39 s."
    assert "- Severity: critical" in told
    assert "- The cluster noticed the loss of broker 1 at 03:12:08.010." in told
    assert r"- In sync: \_\_consumer\_offsets-1." in told
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


def test_without_an_incident_it_says_so(document: Document) -> None:
    assert markdown(replace(document, incidents=[])).startswith("No line of these logs shows")
