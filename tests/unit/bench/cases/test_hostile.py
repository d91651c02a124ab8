from __future__ import annotations

import pytest

from barnabas.bench.cases.hostile import BENCHES, HEADER, Cost, longest_turn_s, turns
from barnabas.bench.registry import Direction


def test_it_is_the_bench_that_was_asked_for():
    (bench,) = BENCHES
    assert (bench.name, bench.unit, bench.target.figure) == ("hostile", "ms", 20.0)
    assert bench.target.direction is Direction.AT_MOST


def test_a_line_of_the_table_tells_what_one_request_costs():
    cost = Cost("delete_records", 1_000, 0.5, 20, 10_000, 0.0042, 0.02, 123.4)
    assert str(cost).split() == ["delete_records", "1,000", "10,000", "25.00", "2500", "4.2", "20", "123"]
    assert len(str(cost)) == len(HEADER)


def page(*counts):
    bounds = ("0.01", "0.02", "+Inf")
    rows = zip(bounds, counts, strict=True)
    return "\n".join(f'barnabas_event_loop_cpu_seconds_bucket{{le="{bound}"}} {n}' for bound, n in rows)


@pytest.mark.parametrize(
    ("after", "longest"),
    [((5, 6, 6), 0.0), ((9, 10, 10), 0.01), ((9, 11, 11), 0.02), ((9, 11, 12), float("inf"))],
)
def test_the_longest_turn_is_the_highest_bucket_that_grew(after, longest):
    assert longest_turn_s(turns(page(5, 6, 6)), turns(page(*after))) == longest
