"""The lines of a file whose times go back, for the incident model."""

from __future__ import annotations

from pyspark.sql import DataFrame

from barnabas.analysis.derived.states import PLACE
from barnabas.analysis.runtime.engine import Window, sf
from barnabas.analysis.story.observed import CLOCKS

_FILE = ("source", "broker")


def steps_back(events: DataFrame) -> DataFrame:
    """Select the lines that are at least ``CLOCKS`` before the broker's line before in the same file.

    Columns: ``PLACE``, ``broker``, ``raw``, ``before`` and ``following`` (the times of the lines around it;
    ``following`` is null after the last one), ``after`` (its time), ``first`` and ``last`` (of the file).
    Records of a metadata log, which have no level, have the clocks of several controllers.
    """
    own = events.where("broker is not null and level is not null")
    by_place = Window.partitionBy(*_FILE).orderBy("block", "line")
    steps = (
        own.select(*PLACE, "broker", sf.col("time").alias("after"))
        .withColumns({"before": sf.lag("after").over(by_place), "following": sf.lead("after").over(by_place)})
        .where(sf.col("after") + sf.lit(CLOCKS) <= sf.col("before"))
    )
    place = sf.struct("block", "line")
    edges = own.groupBy(*_FILE).agg(
        sf.min_by("time", place).alias("first"), sf.max_by("time", place).alias("last")
    )
    texts = own.select(*PLACE, "raw")
    return steps.join(edges, list(_FILE)).join(texts, list(PLACE), "left").orderBy("source", "block", "line")
