"""What the controller has to say about settings and failed log directories."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.cluster.model.commands_configs import ConfigResource
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId
from barnabas.controller.core.reasons import Reason


@dataclass(frozen=True, slots=True)
class ConfigsWritten(Reason):
    """The settings of a resource were written to ZooKeeper on request."""

    resource: ConfigResource
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.resource} now sets itself: {', '.join(self.names) or 'nothing'}"


@dataclass(frozen=True, slots=True)
class ConfigsRefused(Reason):
    """The settings of a resource were not altered."""

    resource: ConfigResource
    error: ErrorCode
    message: str

    def __str__(self) -> str:
        return f"settings of {self.resource} refused with {self.error.name}: {self.message}"


@dataclass(frozen=True, slots=True)
class LogDirsFailed(Reason):
    """Brokers have noted that a log directory of theirs failed; each is asked which replicas are gone."""

    brokers: tuple[BrokerId, ...]

    def __str__(self) -> str:
        return f"log directories failed on brokers: {', '.join(map(str, self.brokers)) or 'none'}"
