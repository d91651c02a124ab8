"""No name without a line, no line without a name."""

from __future__ import annotations

from cluster.model.statechange.kinds import Kind
from cluster.model.statechange.table import TABLE


def test_every_kind_is_said_by_some_row() -> None:
    assert {template.kind for template in TABLE} == set(Kind)


def test_a_value_is_its_name_in_lower_case() -> None:
    assert all(kind.value == kind.name.lower().replace("_", "-") for kind in Kind)
