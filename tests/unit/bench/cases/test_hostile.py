from __future__ import annotations

from barnabas.bench.cases.hostile import BENCHES, HEADER, Cost
from barnabas.bench.registry import Direction
from barnabas.broker.wire.apis import ApiKey


def test_it_is_the_bench_that_was_asked_for():
    (bench,) = BENCHES
    assert (bench.name, bench.unit, bench.target.figure) == ("hostile", "ms", 20.0)
    assert bench.target.direction is Direction.AT_MOST


def test_a_line_of_the_table_tells_what_one_request_costs():
    cost = Cost(ApiKey.DELETE_RECORDS, 1_000, 0.5, 20, 10_000, 0.0042, 123.4)
    assert str(cost).split() == ["delete_records", "1,000", "10,000", "25.00", "2500", "4.2", "123"]
    assert len(str(cost)) == len(HEADER)
