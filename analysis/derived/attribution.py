"""The writers of lines that do not name them, filled into the table ``events`` before others are computed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame

from barnabas.analysis.derived.lives import is_kind
from barnabas.analysis.reading.brokers.life import LIFE_RULES
from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.runtime.engine import alike, matching, rows_of, sf
from barnabas.analysis.segments.writers import (
    Named,
    Nameless,
    Place,
    Stop,
    folder_of,
    owners_of,
    writers_of,
)

PLACE = ("source", "block", "line")

_MOST = 100_000
"""The most lines of each kind that are looked at; those of further ones keep their doubt."""

_OWN = sorted({rule.kind for rule in LIFE_RULES})
_STOPS = (
    BrokerKind.STOPPING, BrokerKind.CONTROLLED_SHUTDOWN_STARTED, BrokerKind.BROKER_STOP_ASKED,
    BrokerKind.BROKER_STOP_REPLAYED,
)  # fmt: skip


def attributed(events: DataFrame) -> DataFrame:
    """Return ``events`` with the writers of lines that do not name them (``analysis.segments.writers``).

    Lines whose writer stays in doubt keep a null in ``broker``.
    """
    nameless = events.where(_is_nameless())
    sources = [row["source"] for row in rows_of(nameless.select("source").distinct())]
    if not sources:
        return events
    named = events.where("broker is not null and level is not null")
    writers: dict[str, frozenset[int]] = defaultdict(frozenset)
    for row in rows_of(named.select("source", "broker").distinct()):
        writers[row["source"]] |= {row["broker"]}
    folders = {folder_of(source) for source in writers}
    owners = owners_of({source: writers[source] for source in {*sources, *writers}})
    mine = {source: owners[source] for source in sources if source in owners}
    shared = [source for source in sources if source not in owners and folder_of(source) in folders]
    found = _in_shared(events, nameless, named, shared) if shared else {}
    return _filled(events, mine, found)


def _is_nameless() -> Column:
    # Records of __cluster_metadata and topics' settings, which have no level, are of no broker.
    return sf.col("understood") & sf.col("broker").isNull() & sf.col("level").isNotNull()


def _in_shared(
    events: DataFrame, nameless: DataFrame, named: DataFrame, shared: list[str]
) -> dict[Place, int]:
    """Return the writers of lines in files that several brokers may have written."""
    these = pa.table({"source": pa.array(shared, pa.string())})
    doubtful = matching(nameless, these).select(*PLACE, "time", "kind").orderBy(*PLACE).limit(_MOST)
    around = matching(named, these).select(*PLACE, "time", "broker").orderBy(*PLACE).limit(_MOST)
    stops = events.where(is_kind(*_STOPS) & sf.col("subject").isNotNull())
    return writers_of(
        [Nameless(_place(row), row["time"], row["kind"]) for row in rows_of(doubtful) if row["time"]],
        [Named(_place(row), row["time"], row["broker"]) for row in rows_of(around) if row["time"]],
        [
            Stop(folder_of(row["source"]), row["time"], row["subject"])
            for row in rows_of(stops.select("source", "time", "subject").limit(_MOST))
            if row["time"]
        ],
    )


def _place(row: Mapping[str, Any]) -> Place:
    return Place(row["source"], row["block"], row["line"])


def _filled(events: DataFrame, owners: Mapping[str, int], found: Mapping[Place, int]) -> DataFrame:
    """Fill in the writers of whole files, and of single lines; a line about its writer gets its subject."""
    by_file = pa.table(
        {"source": pa.array(owners, pa.string()), "owner": pa.array(owners.values(), pa.int32())}
    )
    by_line = pa.table(
        {
            "source": pa.array([each.source for each in found], pa.string()),
            "block": pa.array([each.block for each in found], pa.int64()),
            "line": pa.array([each.line for each in found], pa.int64()),
            "writer": pa.array(found.values(), pa.int32()),
        }
    )
    known = sf.coalesce("broker", "writer", "owner")
    is_own = is_kind(*_OWN) & _is_nameless() & sf.col("subject").isNull()
    return (
        events.join(alike(events, by_file), ["source"], "left")
        .join(alike(events, by_line), list(PLACE), "left")
        .withColumn("subject", sf.when(is_own, known).otherwise(sf.col("subject")))
        .withColumn("broker", sf.when(_is_nameless(), known).otherwise(sf.col("broker")))
        .select(*events.columns)
    )
