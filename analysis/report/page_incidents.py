"""The incidents on the page: the worst in the page itself, the others in files that it loads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from barnabas.analysis.report.document import Row
from barnabas.analysis.report.strips import ms

GROUP = 100
"""The number of incidents in the page itself, and in each file of others."""


def listed(incidents: Sequence[Row], first: int) -> dict[str, Any]:
    """Return ``GROUP`` incidents from the one with index ``first`` on, and the absences in them."""
    own = incidents[first : first + GROUP]
    return {
        "incidents": [_incident(row) for row in own],
        "absences": [
            drawn(each) | {"incident": index}
            for index, row in enumerate(own, first)
            for each in row["absences"]
        ],
    }


def incident_files(incidents: Sequence[Row]) -> dict[str, Any]:
    """Return the content of the files with the incidents that the page itself lacks, by name."""
    return {
        f"incidents-{first // GROUP}": listed(incidents, first)
        for first in range(GROUP, len(incidents), GROUP)
    }


def drawn(absence: Row) -> dict[str, Any]:
    """Return what is drawn of an absence: only a known end of each of its moments."""
    gone, returned = absence["gone"], absence["returned"]
    return {
        "broker": absence["broker"],
        "lived": ms(gone.get("at_least")),
        "gone": ms(gone.get("value") or gone.get("at_most") or absence["noticed"].get("value")),
        "starts": ms(returned.get("value") or returned.get("at_least")),
        "back": ms(returned.get("value") or returned.get("at_most")),
    }


def _incident(row: Row) -> dict[str, Any]:
    return {
        "since": ms(row["since"]),
        "until": ms(row["until"]),
        **{name: row[name] for name in ("kind", "severity", "brokers", "topics", "text")},
    }
