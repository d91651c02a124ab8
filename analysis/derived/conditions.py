"""The table ``conditions``: which conditions of the catalogue the lines show, for each broker and file."""

from __future__ import annotations

from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame

from barnabas.analysis.conditions.catalogue import CATALOGUE
from barnabas.analysis.conditions.condition import Shown
from barnabas.analysis.derived.computed import names
from barnabas.analysis.derived.lives import is_kind
from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.runtime.engine import sf

_SUBJECT = "subject"
_KINDS = [(each.key, shown) for each in CATALOGUE for shown in each.kinds]


def conditions(events: DataFrame) -> DataFrame:
    """Compute one row for each condition, broker that wrote the lines, broker that they are about, and file.

    Columns: ``condition`` (its key), ``broker`` and ``subject`` (as in ``events``), ``source``, ``since`` and
    ``until`` (the first and the last line), ``lines`` (their number), ``names`` (the first partitions as
    topic-number, or topics), ``named`` (the number of all), ``records`` (that replicas dropped below their
    high watermark), ``silent_ms`` (the longest time without an answer), ``error`` (the first), ``block``,
    ``line`` and ``raw`` (of the first line).
    """
    by_kind = reduce(
        lambda cases, each: cases.when(_shows(each[1]), each[0]),
        _KINDS[1:],
        sf.when(_shows(_KINDS[0][1]), _KINDS[0][0]),
    )
    place = sf.struct("time", "block", "line")
    name = sf.coalesce(sf.concat("topic", sf.lit("-"), "partition"), "topic")
    return (
        events.where(
            sf.col("condition").isNotNull() | is_kind(*dict.fromkeys(shown.kind for _, shown in _KINDS))
        )
        .withColumns({"condition": sf.coalesce("condition", by_kind), "name": name, "subject": _about()})
        .where("condition is not null")
        .groupBy("condition", "broker", "subject", "source")
        .agg(
            sf.min("time").alias("since"),
            sf.max("time").alias("until"),
            sf.count("*").alias("lines"),
            *names(),
            sf.sum(sf.col("high_watermark") - sf.col("offset")).alias("records"),
            sf.max(sf.when(is_kind(BrokerKind.SESSION_SILENT), sf.col("duration_ms"))).alias("silent_ms"),
            sf.min_by("error", sf.when(sf.col("error").isNotNull(), place)).alias("error"),
            *(sf.min_by(column, place).alias(column) for column in ("block", "line", "raw")),
        )
    )


def _about() -> Column:
    """Return the broker that a line is about, in the column that its kind has for it."""
    others = [
        sf.when(is_kind(shown.kind), sf.col(shown.about)) for _, shown in _KINDS if shown.about != _SUBJECT
    ]
    return sf.coalesce("subject", *others)


def _shows(shown: Shown) -> Column:
    is_of_kind = is_kind(shown.kind)
    if shown.about != _SUBJECT:
        is_of_kind &= sf.col(shown.about) >= 0
    if not shown.errors:
        return is_of_kind
    return is_of_kind & reduce(or_, (sf.contains("error", sf.lit(text)) for text in shown.errors))
