"""The story of a scenario from its logs alone, by the analysis's own path without Spark."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC
from typing import Any

import pyarrow as pa

from barnabas.analysis.derived.catalog import DERIVED
from barnabas.analysis.derived.store import EVENTS_TABLE
from barnabas.analysis.questions import story
from barnabas.analysis.reading.blocks import BlockReader, Origin
from barnabas.analysis.reading.events.tables import EVENTS_ARROW
from barnabas.analysis.reading.times import Clock
from barnabas.analysis.runtime.engine import framed, in_this_process, settled
from barnabas.analysis.story.observed import Observed

Row = dict[str, Any]

NEEDED = frozenset(("controllers", "lives", "broker_events", "delays", "states"))
"""The derived tables that the story is made from."""

_OWNER = re.compile(r"broker-(\d+)/")


def read(logs: Mapping[str, str]) -> list[Row]:
    """Read logs by name; a name such as ``broker-1/server.log`` gives the broker."""
    rows: list[Row] = []
    for name, text in logs.items():
        owner = _OWNER.match(name)
        broker = None if owner is None else int(owner[1])
        origin = Origin(name, 0, 1, broker)
        reader = BlockReader(Clock(UTC), _always(broker))
        rows.extend(reader.read(text.encode(), origin).rows.to_pylist())
    return rows


def _always(broker: int | None) -> Callable[[str], int | None]:
    return lambda _: broker


def observed(rows: Sequence[Row], min_insync: int | None = None) -> Observed:
    """Return what rows of ``events`` show, through the derived tables of a run over few lines."""
    with in_this_process():
        tables = {EVENTS_TABLE: framed(pa.Table.from_pylist(list(rows), EVENTS_ARROW))}
        for table in DERIVED:
            if table.name in NEEDED:
                tables[table.name] = settled(table.of(tables))
        return story.observed(tables, min_insync)
