"""The leaders that were the only replicas in sync, as far as the logs go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from barnabas.analysis.derived.lives import LIFE
from barnabas.analysis.derived.states import PLACE
from barnabas.analysis.runtime.engine import sf
from barnabas.analysis.story.rows import Alone, line_of

_SHOWN = ("leader", "isr", "first_logged", *PLACE, "broker", "raw")


def alone(states: DataFrame) -> DataFrame:
    """Select the last state of each life of a partition in which one replica was in sync.

    Args:
        states: The table ``states``.
    """
    order = sf.struct("leader_epoch", "version", "first_logged")
    last = states.groupBy(*LIFE).agg(sf.max_by(sf.struct(*_SHOWN), order).alias("last"))
    rows = last.select(*LIFE, *(sf.col(f"last.{name}").alias(name) for name in _SHOWN))
    return rows.where((sf.size("isr") == 1) & (sf.col("leader") >= 0))


def alone_of(row: Mapping[str, Any]) -> Alone:
    """Convert a row of ``alone``."""
    life = (row["topic"], row["partition"], row["life"])
    return Alone(life, row["leader"], row["first_logged"], line_of(row))
