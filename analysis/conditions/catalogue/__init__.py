"""The catalogue of conditions, by subject. An entry that is more specific comes before a general one."""

from __future__ import annotations

from barnabas.analysis.conditions.catalogue.controller import CONTROLLER, CONTROLLER_EPOCH_BACK
from barnabas.analysis.conditions.catalogue.disks import DISKS
from barnabas.analysis.conditions.catalogue.kraft import KRAFT
from barnabas.analysis.conditions.catalogue.process import PROCESS
from barnabas.analysis.conditions.catalogue.replication import COMPUTED, REPLICATION
from barnabas.analysis.conditions.catalogue.security import SECURITY
from barnabas.analysis.conditions.catalogue.zookeeper import ZOOKEEPER
from barnabas.analysis.conditions.condition import Condition

CATALOGUE: tuple[Condition, ...] = (
    *REPLICATION,
    *ZOOKEEPER,
    *CONTROLLER,
    *DISKS,
    *SECURITY,
    *KRAFT,
    *PROCESS,
    *COMPUTED,
    CONTROLLER_EPOCH_BACK,
)
"""All conditions. Where a line shows several, the first one counts."""
