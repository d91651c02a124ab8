"""The leaders' own lines about ISRs that no table of states has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from barnabas.analysis.derived.lives import LIFE, PARTITION, is_kind, with_life
from barnabas.analysis.derived.states import PLACE
from barnabas.analysis.reading.events.kinds import CompanionKind
from barnabas.analysis.runtime.engine import sf
from barnabas.analysis.story.rows import LeaderIsr, line_of

_ASKED = (CompanionKind.ISR_SHRINKING, CompanionKind.ISR_EXPANDING)
_KINDS = (*_ASKED, CompanionKind.ISR_NOT_UPDATED, CompanionKind.ISR_UPDATED)


def isr_lines(events: DataFrame, tables: Mapping[str, DataFrame]) -> DataFrame:
    """Select the lines of leaders that write none when an ISR has changed, as up to 2.3.

    Of partitions without a known leader epoch all are selected: ``states`` has no row about these.

    Args:
        events: The lines that have a time.
        tables: The tables ``lives`` and ``states``, for which it waits if they are still computed.
    """
    flag = sf.lit(col=True)
    lines = events.where(is_kind(*_KINDS) & sf.col("topic").isNotNull() & sf.col("broker").isNotNull())
    updated = lines.where(is_kind(CompanionKind.ISR_UPDATED)).select(*PARTITION, "broker").distinct()
    known = tables["states"].where("leader_epoch is not null").select(*PARTITION).distinct()
    few = (
        lines.join(updated.withColumn("is_updated", flag), [*PARTITION, "broker"], "left")
        .join(known.withColumn("is_known", flag), list(PARTITION), "left")
        .where("is_updated is null or is_known is null")
    )
    return with_life(few, tables["lives"]).select(
        *LIFE, "time", "kind", "from", "isr", "version", *PLACE, "broker", "raw"
    )


def leader_isr(row: Mapping[str, Any]) -> LeaderIsr:
    """Convert a row of ``isr_lines``."""
    before, isr = row["from"], row["isr"]
    return LeaderIsr(
        row["topic"], row["partition"], row["life"], row["time"], row["broker"],
        () if before is None else tuple(int(each) for each in before.split(",") if each),
        None if isr is None or row["kind"] == CompanionKind.ISR_NOT_UPDATED else tuple(isr),
        row["version"] if row["kind"] == CompanionKind.ISR_UPDATED else None, line_of(row),
    )  # fmt: skip
