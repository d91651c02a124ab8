"""The table of the lines of state-change.log that release 2.8 writes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from barnabas.cluster.model.statechange.broker_table import BROKER_TABLE
from barnabas.cluster.model.statechange.controller_table import CONTROLLER_TABLE
from barnabas.cluster.model.statechange.leader_and_isr_table import LEADER_AND_ISR_TABLE
from barnabas.cluster.model.statechange.template import Template

OURS: Mapping[tuple[StrEnum, frozenset[str]], Template] = {
    (template.kind, frozenset(template.formats)): template
    for template in (*CONTROLLER_TABLE, *LEADER_AND_ISR_TABLE, *BROKER_TABLE)
}
"""The rows that our brokers write, by kind and fields (some kinds have two rows with different fields)."""
