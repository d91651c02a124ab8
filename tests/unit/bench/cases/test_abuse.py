from __future__ import annotations

import os

from barnabas.bench.cases.abuse import BENCHES, _most_mb


def test_each_abuse_has_its_bench():
    names = {bench.name for bench in BENCHES}
    assert names == {"abuse-producer-ids", "abuse-init-producer-id", "abuse-parked-fetches", "abuse-topics"}
    assert {bench.target.figure for bench in BENCHES} == {100.0}


def test_the_most_memory_is_read():
    assert 1 < _most_mb(os.getpid()) < 100_000
