from __future__ import annotations

from barnabas.bench.cases.controller_failover import BENCHES


def test_the_target_grows_with_the_partitions():
    (bench,) = BENCHES
    assert bench.sized({"partitions": 100_000}).target.figure == 5
