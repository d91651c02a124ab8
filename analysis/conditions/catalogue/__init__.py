"""The catalogue of conditions, by subject. An entry that is more specific comes before a general one."""

from __future__ import annotations

from barnabas.analysis.conditions.catalogue.controller import CONTROLLER
from barnabas.analysis.conditions.catalogue.replication import REPLICATION
from barnabas.analysis.conditions.catalogue.zookeeper import ZOOKEEPER
from barnabas.analysis.conditions.condition import Condition

CATALOGUE: tuple[Condition, ...] = (*REPLICATION, *ZOOKEEPER, *CONTROLLER)
"""All conditions. Where a line shows several, the first one counts."""
