"""The commands that alter settings of topics and brokers, and their results.

Sources: ``AlterConfigs`` (KIP-133) and ``IncrementalAlterConfigs`` (KIP-339) of release 2.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, unique
from typing import NamedTuple

from barnabas.cluster.model.commands.command import Command, CommandResult
from barnabas.cluster.model.errors import ErrorCode

MAX_SETTINGS = 1_000
"""The most settings of one resource in one request, some ten times as many as there are.

They are checked in one go, so 100,000 of them would hold up the broker. Kafka has no such limit.
"""


@unique
class ConfigResourceType(IntEnum):
    """The kinds of resource that have settings, with their numbers in the protocol."""

    TOPIC = 2
    BROKER = 4


class ConfigResource(NamedTuple):
    """A resource that has settings; ``str`` gives Kafka's spelling.

    Attributes:
        type: The kind of resource.
        name: The topic's name or the broker's id; an empty broker name stands for all brokers.
    """

    type: ConfigResourceType
    name: str

    @property
    def is_default(self) -> bool:
        """Return whether the resource stands for all brokers."""
        return self.type is ConfigResourceType.BROKER and not self.name

    def __str__(self) -> str:
        return f"ConfigResource(type={self.type.name}, name='{self.name}')"


@unique
class ConfigOperation(IntEnum):
    """The operations on a setting, with their numbers in the protocol."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class ConfigAlteration:
    """An operation of an incremental alteration.

    Attributes:
        name: The setting.
        operation: The operation.
        value: The setting's text, or the names to append or subtract, joined by commas; empty for ``DELETE``.
    """

    name: str
    operation: ConfigOperation
    value: str = ""


@dataclass(frozen=True, slots=True)
class ResourceResult:
    """The result for one resource of a command.

    Attributes:
        error: ``NONE`` if the settings were written, or are valid with ``validate_only``.
        message: A sentence that names the thing, the value and what was expected; None without error.
    """

    resource: ConfigResource
    error: ErrorCode
    message: str | None = None


@dataclass(frozen=True, slots=True)
class AlterConfigsResult(CommandResult):
    """The results in the order of the command."""

    resources: tuple[ResourceResult, ...]


@dataclass(frozen=True, slots=True)
class AlterConfigs(Command[AlterConfigsResult]):
    """The command to replace all settings of resources; with ``validate_only`` nothing is written."""

    resources: Mapping[ConfigResource, Mapping[str, str]]
    validate_only: bool = False


@dataclass(frozen=True, slots=True)
class IncrementalAlterConfigs(Command[AlterConfigsResult]):
    """The command to alter some settings of resources; with ``validate_only`` nothing is written."""

    resources: Mapping[ConfigResource, tuple[ConfigAlteration, ...]]
    validate_only: bool = False
