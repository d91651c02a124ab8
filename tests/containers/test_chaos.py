"""The network of containers is cut, one way and from everybody, as by `scripts/chaos --containers`."""

from __future__ import annotations

import time

import pytest

from barnabas.chaos.__main__ import CLUSTER, judge
from barnabas.chaos.chaos import Chaos
from barnabas.chaos.nemeses.schedule import BY_NAME, Step
from barnabas.chaos.targets.composed import composed_targets, why_not
from barnabas.workload.history import History, save

pytestmark = [pytest.mark.containers, pytest.mark.faults, pytest.mark.timeout(1800)]

NEMESES = ("partition-one-way", "cut-off")
HOLD_S = 8.0
"""Longer than a broker's session."""


def test_cuts_break_no_promise(image, required, monkeypatch, tmp_path):
    required(why_not())
    monkeypatch.setenv("BARNABAS_IMAGE", image)
    kinds = [BY_NAME[name] for name in NEMESES]
    steps = [Step(number, (kind,), HOLD_S, 0.0, (number,)) for number, kind in enumerate(kinds, start=1)]
    history = History(time.monotonic)
    with composed_targets(tmp_path) as targets:
        chaos = Chaos(targets, history, print)
        chaos.run(iter(steps), seconds=1200)
        targets.gather(tmp_path / CLUSTER)
        summary = judge(tmp_path, history, chaos.findings, kinds)
    if summary.problems:
        save(tmp_path / "history.jsonl", history.ops())
    print("\n".join(summary.lines()))
    assert list(summary.problems) == []
    assert (chaos.findings.steps, chaos.findings.cuts) == (2, 2)
    assert summary.epochs.controllers > 0
    assert summary.verdict.acknowledged > 1_000
