"""Failovers whose elections took so long that the tables have several: the controller noticed one loss."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

Row = dict[str, Any]

_SUMS = ("partitions", "moved", "waited", "stranded", "led_unseen")

_LATEST = ("elected", "led", "followed", "returned", "total_ms")

_ANY = ("was_controller", "led_behind", "followed_behind")

_STEPS = ("send_ms", "lead_ms", "follow_ms")
"""The times between steps, of which each round of elections has its own."""

_MILLISECOND = timedelta(milliseconds=1)


def as_one(rows: Iterable[Row]) -> list[Row]:
    """Return failovers without those whose notice is that of an earlier row, of which they are part.

    Args:
        rows: The rows of ``failovers``, by time, with the notices of the incidents.
    """
    found: dict[object, Row] = {}
    for number, row in enumerate(rows):
        key: object = (row["broker"], row["controller"], row["noticed"]) if row["partitions"] else number
        found[key] = _joined(found[key], row) if key in found else row
    return list(found.values())


def _joined(first: Mapping[str, Any], later: Mapping[str, Any]) -> Row:
    """Return one failover of two, of which the second one has the later elections."""
    joined = dict(first)
    for name in (*_SUMS, *_LATEST, *_ANY):
        known = [row[name] for row in (first, later) if row.get(name) is not None]
        combine = sum if name in _SUMS else max
        joined[name] = combine(known) if known else None
    if None in (first.get("total_ms"), later.get("total_ms")):
        joined["total_ms"] = None
    sent = [row["sent"] for row in (first, later) if row.get("sent") is not None]
    joined["sent"] = min(sent, default=None)
    joined["leaders"] = sorted({*first["leaders"], *later["leaders"]})
    if joined["elected"] is not None:
        joined["election_ms"] = (joined["elected"] - joined["noticed"]) // _MILLISECOND
    return joined | dict.fromkeys(_STEPS)
