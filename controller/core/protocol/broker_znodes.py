"""Effects that read what brokers write to ZooKeeper: registrations and notifications."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.cluster.model.brokers import Broker
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.controller.core.protocol.effects import Ask, ControllerFence


@dataclass(frozen=True, slots=True)
class ReadBrokers(Ask[Mapping[BrokerId, Broker]]):
    """Read all registered brokers; watch the list and each broker."""


@dataclass(frozen=True, slots=True)
class IsrChanges:
    """The ISR changes that leaders have announced.

    Attributes:
        notes: The names of the notifications' nodes.
        partitions: The partitions that they name, each once.
    """

    notes: tuple[str, ...]
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class ReadIsrChanges(Ask[IsrChanges]):
    """Read all notifications in ``/isr_change_notification``; watch the list."""


@dataclass(frozen=True, slots=True)
class DeleteIsrChanges(Ask[None]):
    """Delete these notes; one that is gone already is no failure."""

    notes: tuple[str, ...]
    fence: ControllerFence


@dataclass(frozen=True, slots=True)
class LogDirEvents:
    """The failures of log directories that brokers have announced.

    Attributes:
        notes: The names of the notifications' nodes.
        brokers: The brokers that report a failed log directory, each once.
    """

    notes: tuple[str, ...]
    brokers: tuple[BrokerId, ...]


@dataclass(frozen=True, slots=True)
class ReadLogDirEvents(Ask[LogDirEvents]):
    """Read all notifications in ``/log_dir_event_notification``; watch the list."""


@dataclass(frozen=True, slots=True)
class DeleteLogDirEvents(Ask[None]):
    """Delete these notes; one that is gone already is no failure."""

    notes: tuple[str, ...]
    fence: ControllerFence
