"""The catalog of derived tables: each table's name, inputs and function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from barnabas.analysis.derived.broker_events import broker_events
from barnabas.analysis.derived.computed import computed_conditions
from barnabas.analysis.derived.conditions import conditions
from barnabas.analysis.derived.controllers import controllers
from barnabas.analysis.derived.delays import delays
from barnabas.analysis.derived.isr import isr
from barnabas.analysis.derived.leaders import leaders
from barnabas.analysis.derived.lives import lives
from barnabas.analysis.derived.requests import requests
from barnabas.analysis.derived.states import states


@dataclass(frozen=True, slots=True)
class Table:
    """A table and the function that computes it.

    Attributes:
        name: The name of the table's folder of Parquet files.
        needs: The names of the tables that ``compute`` takes, in the order of its parameters.
        compute: The function from those tables to this one.
        is_of_all_lines: Whether ``compute`` also gets the lines without a valid time (such as a day that does
            not exist). Such lines are counted but never taken for events.
        is_by_partition: Whether each row depends on lines about its own partition only, so that the events of
            some partitions give the rows of these.
    """

    name: str
    needs: tuple[str, ...]
    compute: Callable[..., DataFrame]
    is_of_all_lines: bool = False
    is_by_partition: bool = False

    def of(self, tables: Mapping[str, DataFrame]) -> DataFrame:
        """Compute the table from those in ``tables``."""
        return self.compute(*(self._needed(name, tables[name]) for name in self.needs))

    def _needed(self, name: str, table: DataFrame) -> DataFrame:
        return table if self.is_of_all_lines or name != _EVENTS else table.where("time is not null")


_EVENTS = "events"

DERIVED: tuple[Table, ...] = (
    Table("controllers", ("events",), controllers),
    Table("lives", ("events",), lives),
    Table("states", ("events", "lives"), states, is_by_partition=True),
    Table("broker_events", ("events", "lives"), broker_events),
    Table("delays", ("events",), delays),
    Table("requests", ("events", "controllers"), requests),
    Table("leaders", ("states", "lives"), leaders),
    Table("isr", ("states", "lives"), isr),
    Table("conditions", ("events",), conditions),
    Table("computed_conditions", ("events", "states", "leaders", "isr"), computed_conditions),
)
"""The derived tables, each after those that it needs; the one for which most others wait comes early."""
