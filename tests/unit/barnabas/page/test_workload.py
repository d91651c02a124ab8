"""The counts of a workload, without a cluster."""

from __future__ import annotations

import pytest

from barnabas.page.workload import Workload


def test_the_longest_stall_is_that_of_the_workload_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = Workload("localhost:9")
    workload._counts.stall_ms, workload._counts.sent = 7_000, 10
    monkeypatch.setattr(workload, "_run", lambda _target: None)
    workload.start()
    for thread in workload._threads:
        thread.join()
    told = workload.json()
    assert (told["stall_ms"], told["sent"]) == (0, 10)
