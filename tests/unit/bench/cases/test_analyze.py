"""The bench compares what both did with the same lines."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


@pytest.mark.spark
def test_both_read_and_are_compared() -> None:
    # A process of its own: there may be but one Spark context in each.
    script = "import json; from barnabas.bench.cases.analyze import measure; run = measure(20_000)"
    script += "; print(json.dumps([run.figure, dict(run.details)]))"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    figure, details = json.loads(done.stdout)
    assert figure == details["lines/s per core"] / details["lines/s per core of the peer"]
    assert details["understood %"] == 100
    assert details["lines that the peer read"] >= 20_000
    assert all(value > 0 for name, value in details.items() if name.startswith("peak MB"))
