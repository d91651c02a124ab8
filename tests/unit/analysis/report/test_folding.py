"""Quiet time, twice: by one sweep and by looking at each moment."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.analysis.report import folding
from barnabas.analysis.report.folding import LEAST_MS, quiet

HAPPENED = st.lists(st.tuples(st.integers(-5, 110), st.integers(-5, 110)), max_size=6)


@given(HAPPENED)
def test_nothing_that_happened_is_folded_and_every_long_quiet_stretch_is(
    happened: list[tuple[int, int]],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folding, "LEAST_MS", 10)
        found = quiet(happened, 0, 100)
    busy = {time for one, other in happened for time in range(max(one, 0), min(max(one, other), 100) + 1)}
    assert not any(since < time < until for time in busy for since, until in found)
    assert found == sorted(found)
    free = [time for time in range(1, 100) if time not in busy]
    runs: list[list[int]] = []
    for time in free:
        if runs and runs[-1][-1] == time - 1:
            runs[-1].append(time)
        else:
            runs.append([time])
    # A run of n free moments lies between two busy ones, or edges, that are n + 1 apart.
    assert len(found) == sum(len(run) + 1 >= 10 for run in runs)


def test_short_logs_are_not_folded() -> None:
    assert quiet([], 0, LEAST_MS - 1) == []
    assert quiet([(5, 6)], 0, LEAST_MS) == []


def test_the_longest_ones_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "MOST", 1)
    hour = 60 * LEAST_MS
    assert quiet([(hour, hour), (4 * hour, 4 * hour)], 0, 5 * hour) == [
        (hour + LEAST_MS, 4 * hour - LEAST_MS)
    ]
