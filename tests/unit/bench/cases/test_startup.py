from barnabas.bench.cases.startup import BENCHES
from barnabas.bench.registry import Direction


def test_it_is_the_bench_that_was_asked_for():
    (bench,) = BENCHES
    assert (bench.name, bench.unit, bench.target.figure) == ("startup", "s", 5.0)
    assert bench.target.direction is Direction.AT_MOST
