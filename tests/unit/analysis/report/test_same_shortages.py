"""The writes that shortages of replicas refused, in the answer about a partition."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from barnabas.analysis.questions.availability import UNDER_REPLICATED
from barnabas.analysis.report.same_shortages import shortages, with_writes
from barnabas.analysis.report.words import steps
from barnabas.analysis.story.certainty import Line
from barnabas.analysis.story.incident import Incident, IncidentKind
from barnabas.analysis.story.isr import IsrStep
from barnabas.analysis.story.shortages import Shortage

BEGIN = datetime(2026, 11, 21, 3, tzinfo=UTC)
END = BEGIN + timedelta(seconds=30)
STEP = IsrStep(BEGIN, END, 2, is_certain=True, line=Line("log", 0, 1, "text"), assigned=3)
ROW: dict[str, Any] = {
    "topic": "orders", "partition": 0, "what": UNDER_REPLICATED, "since": BEGIN, "until": END,
    "sure_until": None, "least": 2, "assigned": 3, "missing": [3],
}  # fmt: skip
UNKNOWN = "broker 3 fell out; acks=all was refused if min.insync.replicas is above 2"


def incident(**more: Any) -> Incident:
    shortage = Shortage(1, "orders-0", (STEP,), **more)
    return Incident(IncidentKind.UNDER_REPLICATED, BEGIN, END, shortage=shortage)


REFUSED = "acks=all writes were refused while fewer than 3 were in sync"


@pytest.mark.parametrize(
    ("row", "minimum", "said"),
    [
        ({}, 1, "broker 3 fell out; with min.insync.replicas=1 that refuses no write"),
        (
            {},
            3,
            f"broker 3 fell out; {REFUSED} (min.insync.replicas=3)",
        ),
        ({}, None, UNKNOWN),
        ({"partition": 1}, 1, UNKNOWN),
        ({"since": END + timedelta(hours=1), "until": None}, 1, UNKNOWN),
    ],
)
def test_the_minimum_is_said_where_it_is_known(row: dict[str, Any], minimum: int | None, said: str) -> None:
    (found,) = with_writes([ROW | row], shortages([incident(minimum=minimum)]))
    assert steps(found)[0].text == said
