"""Recorded failures of real clusters: their stories are true and complete."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from barnabas.bench.truth.judge import falsehoods
from barnabas.bench.truth.recordings import judged, keep, load, sentences
from barnabas.bench.truth.truths import Span

RECORDED = sorted((Path(__file__).parents[3] / "data" / "truth").glob("*.json"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_story_of_a_recording_is_true_and_complete(path: Path) -> None:
    story, wrong = judged(path)
    assert wrong == [], "\n".join(sentences(story))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_another_truth_denies_the_story(path: Path) -> None:
    truth, _ = load(path)
    story, _ = judged(path)
    hour = timedelta(hours=1)
    moved = tuple(
        replace(each, gone=Span(each.gone.low + hour, each.gone.high + hour)) for each in truth.departures
    )
    assert len(truth.departures) > 0
    assert len(falsehoods(replace(truth, departures=moved), story)) >= 2 * len(moved)
    assert len(falsehoods(replace(truth, departures=()), story)) >= len(truth.departures)


def test_what_is_kept_is_what_is_loaded(tmp_path: Path) -> None:
    truth, logs = load(RECORDED[0])
    assert load(keep(tmp_path / "new", "again", truth, logs)) == (truth, logs)
    assert len(logs) > 1
