"""From the text of logs to the input of the incident model, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from barnabas.analysis.story.observed import Observed
from barnabas.bench.truth.claims import observed, read

Observe = Callable[..., Observed]


@pytest.fixture(scope="session")
def observe() -> Observe:
    """The input of the model for logs by name: ``observe({"broker-1/server.log": "..."}, min_insync)``."""

    def from_logs(logs: Mapping[str, str], min_insync: int | None = None) -> Observed:
        return observed(read(logs), min_insync)

    return from_logs
