"""The table of the lines of state-change.log that release 2.8 writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from barnabas.cluster.model.statechange.broker_table import BROKER_TABLE
from barnabas.cluster.model.statechange.controller_table import CONTROLLER_TABLE
from barnabas.cluster.model.statechange.leader_and_isr_table import LEADER_AND_ISR_TABLE
from barnabas.cluster.model.statechange.template import Template


def _ours(rows: Iterable[Template]) -> dict[tuple[StrEnum, frozenset[str]], Template]:
    ours: dict[tuple[StrEnum, frozenset[str]], Template] = {}
    for template in rows:
        key = template.kind, frozenset(template.formats)
        if not template.is_ours:
            raise ValueError(f"our release has no line {template.text!r}")
        if ours.setdefault(key, template) is not template:
            raise ValueError(f"two rows of our release say {template.kind.value!r} with the same fields")
    return ours


OURS: Mapping[tuple[StrEnum, frozenset[str]], Template] = _ours(
    (*CONTROLLER_TABLE, *LEADER_AND_ISR_TABLE, *BROKER_TABLE)
)
"""The rows that our brokers write, by kind and fields (some kinds have two rows with different fields)."""
