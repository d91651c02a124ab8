"""From the text of logs to the input of the incident model, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import pytest

from barnabas.analysis.story.observed import Observed
from barnabas.bench.truth.claims import observed, read

Observe = Callable[..., Observed]


@pytest.fixture(scope="session")
def observe() -> Observe:
    """The input of the model for logs by name: ``observe({"broker-1/server.log": "..."}, min_insync)``."""

    def from_logs(logs: Mapping[str, str], min_insync: int | None = None) -> Observed:
        return _of(tuple(logs.items()), min_insync)

    return from_logs


@cache
def _of(logs: tuple[tuple[str, str], ...], min_insync: int | None) -> Observed:
    # The golden incidents are read for the story and for the alerts.
    return observed(read(dict(logs)), min_insync)
