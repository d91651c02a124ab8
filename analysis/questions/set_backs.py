"""The lines of a file whose times go back, for the incident model."""

from __future__ import annotations

from pyspark.sql import DataFrame

from barnabas.analysis.derived.states import PLACE
from barnabas.analysis.runtime.engine import Window, sf
from barnabas.analysis.story.observed import CLOCKS

_FILE = ("source", "broker")


def steps(events: DataFrame) -> DataFrame:
    """Select the lines that are at least ``CLOCKS`` before the broker's line before in the same file.

    Columns: ``PLACE``, ``broker``, ``before`` and ``following`` (the times of the lines around it;
    ``following`` is null after the last one), ``after`` (its time). Records of a metadata log, which have no
    level, have the clocks of several controllers.
    """
    by_place = Window.partitionBy(*_FILE).orderBy("block", "line")
    return (
        _own(events)
        .select(*PLACE, "broker", sf.col("time").alias("after"))
        .withColumns({"before": sf.lag("after").over(by_place), "following": sf.lead("after").over(by_place)})
        .where(sf.col("after") + sf.lit(CLOCKS) <= sf.col("before"))
    )


def steps_with_texts(events: DataFrame) -> DataFrame:
    """Add ``raw``, and ``first`` and ``last`` (times of the file), to the rows of ``steps``, in their order.

    Few logs have such rows, and the texts of all lines take long to search.
    """
    own, place = _own(events), sf.struct("block", "line")
    edges = own.groupBy(*_FILE).agg(
        sf.min_by("time", place).alias("first"), sf.max_by("time", place).alias("last")
    )
    found = steps(events).join(edges, list(_FILE)).join(own.select(*PLACE, "raw"), list(PLACE), "left")
    return found.orderBy("source", "block", "line")


def _own(events: DataFrame) -> DataFrame:
    return events.where("broker is not null and level is not null")
