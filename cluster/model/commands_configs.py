"""The commands that alter settings of topics and brokers, and what their callers are told.

Sources: ``AlterConfigs`` (KIP-133) and ``IncrementalAlterConfigs`` (KIP-339) of release 2.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, unique
from typing import NamedTuple

from barnabas.cluster.model.commands import Command, CommandResult
from barnabas.cluster.model.errors import ErrorCode


@unique
class ConfigResourceType(IntEnum):
    """What kind of thing has settings, by its number on the wire."""

    TOPIC = 2
    BROKER = 4


class ConfigResource(NamedTuple):
    """A thing that has settings; prints as Kafka prints it.

    Attributes:
        type: Its kind.
        name: A topic's name or a broker's id; the empty name of a broker stands for all of them.
    """

    type: ConfigResourceType
    name: str

    @property
    def is_default(self) -> bool:
        """Whether it stands for all brokers."""
        return self.type is ConfigResourceType.BROKER and not self.name

    def __str__(self) -> str:
        return f"ConfigResource(type={self.type.name}, name='{self.name}')"


@unique
class ConfigOperation(IntEnum):
    """What is done to one setting, by its number on the wire."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class ConfigAlteration:
    """One step of an incremental alteration.

    Attributes:
        name: The setting.
        operation: What is done to it.
        value: Its text, or the names to append or subtract, joined by commas; empty for ``DELETE``.
    """

    name: str
    operation: ConfigOperation
    value: str = ""


@dataclass(frozen=True, slots=True)
class ResourceResult:
    """What became of one resource of a command.

    Attributes:
        error: ``NONE`` where its settings were written, or would have been.
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
    """Let each resource set these settings itself and no others; with ``validate_only`` write nothing."""

    resources: Mapping[ConfigResource, Mapping[str, str]]
    validate_only: bool = False


@dataclass(frozen=True, slots=True)
class IncrementalAlterConfigs(Command[AlterConfigsResult]):
    """Alter these settings of each resource and leave the others; with ``validate_only`` write nothing."""

    resources: Mapping[ConfigResource, tuple[ConfigAlteration, ...]]
    validate_only: bool = False
