"""Which tables there are, and what each is computed from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from barnabas.analysis.derived.controllers import controllers
from barnabas.analysis.derived.isr import isr
from barnabas.analysis.derived.leaders import leaders
from barnabas.analysis.derived.lives import lives
from barnabas.analysis.derived.requests import requests
from barnabas.analysis.derived.states import states
from barnabas.analysis.derived.unavailability import unavailability


@dataclass(frozen=True, slots=True)
class Table:
    """A table, and how it comes to be.

    Attributes:
        name: Of its folder of Parquet files.
        needs: The tables that ``compute`` takes, in its order.
        compute: From those tables this one.
        is_of_all_lines: Whether lines without a time count, as those of a day that does not exist. Nothing
            that happened is told of such a line.
    """

    name: str
    needs: tuple[str, ...]
    compute: Callable[..., DataFrame]
    is_of_all_lines: bool = False

    def of(self, tables: Mapping[str, DataFrame]) -> DataFrame:
        """The table, computed from those in ``tables``."""
        return self.compute(*(self._needed(name, tables[name]) for name in self.needs))

    def _needed(self, name: str, table: DataFrame) -> DataFrame:
        return table if self.is_of_all_lines or name != _EVENTS else table.where("time is not null")


_EVENTS = "events"

DERIVED: tuple[Table, ...] = (
    Table("controllers", ("events",), controllers),
    Table("lives", ("events",), lives),
    Table("states", ("events",), states),
    Table("leaders", ("states", "lives"), leaders),
    Table("isr", ("states", "lives"), isr),
    Table("requests", ("events", "controllers"), requests),
    Table("unavailability", ("events", "states", "leaders", "controllers", "lives"), unavailability),
)
"""In an order in which each finds what it needs."""
