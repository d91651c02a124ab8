"""How many replicas were in sync, and which: the table ``isr``."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from barnabas.analysis.derived.lives import LIFE


def isr(states: DataFrame, lives: DataFrame) -> DataFrame:
    """The ISR of each partition over time: one row for each time it is known to have changed.

    At INFO (the default from 2.6) state-change.log has only controllers' changes of an ISR. What leaders
    write themselves, replicas that come back above all, their server.log tells; where that is not at hand, it
    shows when somebody logs the state the next time. The steps
    of zkVersion in between are counted as ``unseen``: where it is not 0, ``since`` is the latest time at
    which it can have changed, and ``seen_until`` the last at which the row before it is known to have held.

    Columns: ``topic``, ``partition``, ``life``, ``leader``, ``leader_epoch``, ``version``, ``isr``, ``size``,
    ``assigned`` (how many replicas there should be; the most ever in sync where no line says it), ``left``
    and ``joined`` (against the row before), ``since``, ``until`` (null while it lasts), ``seen_until``,
    ``unseen``.
    """
    order = Window.partitionBy(*LIFE).orderBy("leader_epoch", "version", "since")
    life = Window.partitionBy(*LIFE)
    born = lives.select(*LIFE, "deleted", sf.size("replicas").alias("born_with"))
    known = states.where("isr is not null").withColumn("since", sf.coalesce("decided", "heard"))
    assigned = sf.coalesce(
        sf.max(sf.size("replicas")).over(life),
        sf.max("born_with").over(life),
        sf.max(sf.size("isr")).over(life),
    )
    before = sf.coalesce("before", "isr")
    step = sf.col("version") - sf.lag("version").over(order)
    changed = (
        known.join(born, list(LIFE), "left")
        .withColumns({"assigned": assigned, "before": sf.lag("isr").over(order), "step": step})
        .withColumns({"left": sf.array_except(before, "isr"), "joined": sf.array_except("isr", before)})
        .withColumn("seen_before", sf.lag("since").over(order))
        .where("before is null or size(left) > 0 or size(joined) > 0")
    )
    unseen = sf.greatest(sf.coalesce(sf.col("step") - 1, sf.lit(0)), sf.lit(0))
    return (
        changed.withColumns(
            {
                "size": sf.size("isr"),
                "until": sf.coalesce(sf.lead("since").over(order), "deleted"),
                "unseen": unseen,
                "seen_until": sf.when(sf.lead(unseen).over(order) > 0, sf.lead("seen_before").over(order)),
            }
        )
        .select(
            *LIFE, "leader", "leader_epoch", "version", "isr", "size", "assigned", "left", "joined",
            "since", "until", "seen_until", "unseen",
        )
    )  # fmt: skip
