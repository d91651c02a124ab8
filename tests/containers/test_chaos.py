"""The network of containers is cut, one way and from everybody, as by `scripts/chaos --containers`."""

from __future__ import annotations

import time

import pytest

from barnabas.chaos.__main__ import CLUSTER, judge
from barnabas.chaos.chaos import Chaos
from barnabas.chaos.composed import composed_arena, why_not
from barnabas.chaos.history import History, save
from barnabas.chaos.schedule import BY_NAME, Step

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
    with composed_arena(tmp_path) as arena:
        chaos = Chaos(arena, history, print)
        chaos.run(iter(steps), seconds=1200)
        arena.gather(tmp_path / CLUSTER)
        reckoning = judge(tmp_path, history, chaos.findings, kinds)
    if reckoning.problems:
        save(tmp_path / "history.jsonl", history.ops())
    print("\n".join(reckoning.lines()))
    assert list(reckoning.problems) == []
    assert (chaos.findings.steps, chaos.findings.cuts) == (2, 2)
    assert reckoning.epochs.reigns > 0
    assert reckoning.verdict.acknowledged > 1_000
