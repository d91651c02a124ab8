"""The table ``isr``: the in-sync replicas of each partition over time."""

from __future__ import annotations

from pyspark.sql import DataFrame

from barnabas.analysis.derived.lives import DELETION, LIFE
from barnabas.analysis.runtime.engine import Window, sf


def isr(states: DataFrame, lives: DataFrame) -> DataFrame:
    """Compute one row for each known change of a partition's ISR.

    At INFO (the default from 2.6) state-change.log holds only the ISR changes that controllers make. A leader
    logs its own changes, above all replicas that return, in its server.log. If that file is missing, such a
    change shows only in the next line that any broker logs about the partition. The steps of zkVersion in
    between are counted in ``unseen``. If ``unseen`` is not 0, ``since`` is the latest time at which the ISR
    can have changed, and ``seen_until`` the last time at which the previous ISR is known to have held. A
    controller that deletes a topic removes its replicas from the ISRs first; these changes are left out.

    Columns: ``topic``, ``partition``, ``life``, ``leader``, ``leader_epoch``, ``version``, ``isr``, ``size``,
    ``assigned`` (the number of assigned replicas, without those that a reassignment adds as long as they are
    not in sync; if no line gives it, the largest ISR seen), ``left`` and ``joined`` (compared with the
    previous row), ``since``, ``until`` (null while it lasts), ``seen_until``, ``unseen``.
    """
    order = Window.partitionBy(*LIFE).orderBy("leader_epoch", "version", "since")
    life = Window.partitionBy(*LIFE)
    born = lives.select(*LIFE, "deleted", sf.size("replicas").alias("born_with"))
    known = states.where("isr is not null").withColumn("since", sf.coalesce("decided", "first_logged"))
    adding = sf.when(sf.col("adding").isNotNull(), sf.size("adding")).otherwise(sf.lit(0))
    named = sf.when(sf.col("replicas").isNotNull(), sf.size("replicas") - adding)
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    assigned = sf.greatest(
        sf.coalesce(
            sf.last("named", ignorenulls=True).over(so_far),
            sf.max("born_with").over(life),
            sf.max("named").over(life),
            sf.max(sf.size("isr")).over(life),
        ),
        sf.size("isr"),
    )
    before = sf.coalesce("before", "isr")
    before_deletion = sf.coalesce(sf.col("since") < sf.col("deleted") - sf.lit(DELETION), sf.lit(col=True))
    step = sf.col("version") - sf.lag("version").over(order)
    changed = (
        known.join(born, list(LIFE), "left")
        .withColumn("named", named)
        .withColumns({"assigned": assigned, "before": sf.lag("isr").over(order), "step": step})
        .withColumns({"left": sf.array_except(before, "isr"), "joined": sf.array_except("isr", before)})
        .withColumn("seen_before", sf.lag("since").over(order))
        .where("before is null or size(left) > 0 or size(joined) > 0")
        .where(before_deletion | sf.col("before").isNull())
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
