"""Each kind has a line, and no line another kind."""

from __future__ import annotations

from barnabas.cluster.model.statechange.kinds import Kind
from barnabas.cluster.model.statechange.table import OURS


def test_every_kind_has_a_row() -> None:
    assert {kind for kind, _ in OURS} == set(Kind)
