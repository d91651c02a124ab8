from __future__ import annotations

from barnabas.bench.cases.create_topic import BENCHES


def test_the_target_grows_with_the_partitions():
    (bench,) = BENCHES
    assert bench.sizes == {"partitions": 1000}
    assert bench.sized({"partitions": 500}).target.figure == 1.5
