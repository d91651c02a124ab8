from __future__ import annotations

from barnabas.bench.cases.broker_death import BENCHES


def test_the_target_grows_with_the_leaders():
    (bench,) = BENCHES
    assert bench.sizes == {"leaders": 1000}
    assert bench.sized({"leaders": 2000}).target.figure == 1
