"""The last line in a broker's own log before a given time."""

from __future__ import annotations

from pyspark.sql import DataFrame

from barnabas.analysis.runtime.engine import Window, sf


def with_last_words(rows: DataFrame, events: DataFrame, broker: str, moment: str, name: str) -> DataFrame:
    """Add the column ``name``: the time of the last line that each row's broker logged before a moment.

    Args:
        rows: The rows to extend; few compared with the lines of the logs.
        events: The table of events.
        broker: The column of ``rows`` with the broker id.
        moment: The column of ``rows`` with the time before which to look.
        name: The name of the new column; its value is null if the broker's log is missing.
    """
    spoke = (
        events.where("broker is not null and time is not null")
        .groupBy("broker", sf.date_trunc("second", "time").alias("second"))
        .agg(sf.max("time").alias("spoke"))
        .select("broker", sf.col("spoke").alias("moment"), "spoke")
    )
    asked = (
        rows.select(sf.col(broker).alias("broker"), sf.col(moment).alias("moment"))
        .where("broker is not null and moment is not null")
        .distinct()
        .withColumn("is_asked", sf.lit(col=True))
    )
    earlier = Window.partitionBy("broker").orderBy("moment", sf.col("spoke").isNull())
    answered = (
        asked.unionByName(spoke, allowMissingColumns=True)
        .withColumn(name, sf.last("spoke", ignorenulls=True).over(earlier))
        .where("is_asked")
        .select(sf.col("broker").alias(broker), sf.col("moment").alias(moment), name)
    )
    return rows.join(answered, [broker, moment], "left")
