"""How long a broker was heard: the last line in its own log before a moment."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf


def with_last_words(rows: DataFrame, events: DataFrame, broker: str, moment: str, name: str) -> DataFrame:
    """``rows`` with the column ``name``: when the broker of each last logged anything before the moment.

    Args:
        rows: Few, against the lines of the logs.
        events: The table of events.
        broker: The column of ``rows`` that says whose log is meant.
        moment: The column of ``rows`` that says before when.
        name: Of the new column; null where that log is not at hand.
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
