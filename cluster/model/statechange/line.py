"""A line of state-change.log as data: who says what, with which values; and its text in release 2.8.

>>> said = StateChange(Kind.UPDATE_METADATA_BATCH, {"brokers": (1, 2), "count": 6}, 1, 3)
>>> said.level.name, said.message
('INFO', '[Controller id=1 epoch=3] Sending UpdateMetadata request to brokers HashSet(1, 2) for 6 partitions')

Deciding cores build them through ``ControllerLines`` and ``BrokerLines``; the writer looks at ``level``
first and asks for ``message`` only where the line is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from barnabas.cluster.model.statechange.kinds import Kind
from barnabas.cluster.model.statechange.levels import Level
from barnabas.cluster.model.statechange.table import OURS
from barnabas.cluster.model.statechange.template import Speaker, Template

LOGGER = "state.change.logger"
"""The logger that every line names at its end."""


@dataclass(frozen=True, slots=True)
class StateChange:
    """One line to log.

    Attributes:
        kind: What it says.
        values: The values of the template's fields.
        speaker_id: The broker or controller that says it.
        speaker_epoch: The controller's epoch; None for a broker, and for a controller's line without one.
        cause: The exception that follows on lines of its own, such as
            ``kafka.common.StateChangeFailedException: Failed to elect leader for …``; None without.
    """

    kind: Kind
    values: Mapping[str, Any] = field(hash=False)
    speaker_id: int
    speaker_epoch: int | None = None
    cause: str | None = None
    _template: Template = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        template = OURS.get((self.kind, frozenset(self.values)))
        if template is None:
            raise ValueError(
                f"our release has no line {self.kind.value!r} with the fields {sorted(self.values)}"
            )
        object.__setattr__(self, "_template", template)

    @property
    def level(self) -> Level:
        """The level at which release 2.8 logs this line."""
        return self._template.our_level

    @property
    def message(self) -> str:
        """The line's text with its prefix, as release 2.8 spells it."""
        return self._prefix() + self._template.write(self.values)

    def entry(self, time: str) -> str:
        """The whole entry as log4j's pattern ``[%d] %p %m (%c)%n`` lays it out, its cause below it.

        Args:
            time: The broker's local time as ``2026-11-21 03:12:45,678``.
        """
        below = "" if self.cause is None else f"{self.cause}\n"
        return f"[{time}] {self.level.name} {self.message} ({LOGGER})\n{below}"

    def _prefix(self) -> str:
        match self._template.speaker:
            case Speaker.CONTROLLER:
                return f"[Controller id={self.speaker_id} epoch={self.speaker_epoch}] "
            case Speaker.CONTROLLER_WITHOUT_EPOCH:
                return f"[Controller id={self.speaker_id}] "
            case Speaker.BROKER:
                return f"[Broker id={self.speaker_id}] "
            case Speaker.NOBODY:
                return ""
