"""Replicas that fall out of sync."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pyspark.sql import DataFrame

from barnabas.analysis.questions.churn import flapping_brokers, under_replicated

pytestmark = pytest.mark.usefixtures("here")


def test_the_most_restless_brokers(story: Mapping[str, DataFrame]) -> None:
    spells = {
        row["broker"]: (row["spells"], row["left"], row["joined"])
        for row in flapping_brokers(story["isr"]).collect()
    }
    assert spells == {1: (1, 2, 0), 2: (1, 1, 0), 3: (1, 1, 0)}


def test_a_time_of_too_few_replicas_has_two_ends(story: Mapping[str, DataFrame]) -> None:
    first, *rest = under_replicated(story["isr"]).collect()
    assert (first["partition"], first["least"], first["assigned"], first["missing"]) == (3, 1, 3, [2, 3])
    assert (first["since"].minute, first["until"]) == (9, None)
    assert [(row["partition"], row["missing"]) for row in rest] == [(0, [1]), (1, [1])]
