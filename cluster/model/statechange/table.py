"""The one table of the lines of state-change.log: every kind in every form, and which form is ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cluster.model.statechange.broker_table import BROKER_TABLE
from cluster.model.statechange.controller_table import CONTROLLER_TABLE
from cluster.model.statechange.kinds import Kind
from cluster.model.statechange.kraft_table import KRAFT_TABLE
from cluster.model.statechange.leader_and_isr_table import LEADER_AND_ISR_TABLE
from cluster.model.statechange.template import Template

TABLE: tuple[Template, ...] = (*CONTROLLER_TABLE, *LEADER_AND_ISR_TABLE, *BROKER_TABLE, *KRAFT_TABLE)
"""Every form of every line, all releases."""


def _ours(rows: Iterable[Template]) -> dict[tuple[Kind, frozenset[str]], Template]:
    ours: dict[tuple[Kind, frozenset[str]], Template] = {}
    for template in rows:
        key = template.kind, frozenset(template.formats)
        if template.is_ours and ours.setdefault(key, template) is not template:
            raise ValueError(f"two rows of our release say {template.kind.value!r} with the same fields")
    return ours


OURS: Mapping[tuple[Kind, frozenset[str]], Template] = _ours(
    (*CONTROLLER_TABLE, *LEADER_AND_ISR_TABLE, *BROKER_TABLE)
)
"""The forms that our brokers write, by kind and fields (which tell the two forms of some kinds apart)."""
