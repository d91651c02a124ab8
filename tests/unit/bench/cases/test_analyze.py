"""The bench compares what both did with the same lines."""

from __future__ import annotations

import pytest

from bench.cases import analyze


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_both_read_and_are_compared() -> None:
    run = analyze.measure(20_000)
    details = run.details
    assert run.figure == details["lines/s per core"] / details["lines/s per core of the peer"]
    assert details["understood %"] == 100
    assert details["peak MB of Java"] > 0


def test_it_can_be_asked_for_more_lines() -> None:
    (bench,) = analyze.BENCHES
    assert dict(bench.sized({"lines": 10**8}).sizes) == {"lines": 10**8}
