"""The last line of a broker before a time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import pytest
from pyspark.sql import DataFrame

from barnabas.analysis.derived.last_words import with_last_words
from barnabas.analysis.runtime.engine import sf

pytestmark = pytest.mark.usefixtures("here")


def test_the_last_line_before_the_moment_is_found(story: Mapping[str, DataFrame]) -> None:
    asked = story["controllers"].select(
        sf.explode(sf.array(sf.lit(1), sf.lit(9))).alias("who"), sf.col("until").alias("before")
    )
    rows = with_last_words(asked, story["events"], "who", "before", "last_logged").collect()
    last_logged = {(row["who"], row["before"].minute): row["last_logged"] for row in rows}
    assert last_logged[9, 14] is None
    assert last_logged[1, 14] == datetime(2026, 11, 21, 3, 12, 2)  # noqa: DTZ001
