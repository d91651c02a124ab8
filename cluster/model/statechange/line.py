"""A line of state-change.log as data, and its text in release 2.8.

>>> said = StateChange(Kind.UPDATE_METADATA_BATCH, {"brokers": (1, 2), "count": 6}, 1, 3)
>>> said.level.name, said.message
('INFO', '[Controller id=1 epoch=3] Sending UpdateMetadata request to brokers HashSet(1, 2) for 6 partitions')

Cores build lines through ``ControllerLines`` and ``BrokerLines``. The writer checks ``level`` first and
builds ``message`` only for lines that are written.
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
"""The name of the logger at the end of every line."""

_PREFIXES: Mapping[Speaker, str] = {
    Speaker.CONTROLLER: "[Controller id={id} epoch={epoch}] ",
    Speaker.CONTROLLER_WITHOUT_EPOCH: "[Controller id={id}] ",
    Speaker.BROKER: "[Broker id={id}] ",
}
"""The prefixes of release 2.8, which has no line without one."""


@dataclass(frozen=True, slots=True)
class StateChange:
    """A line to log.

    Attributes:
        kind: The kind of line.
        values: The values of the template's fields.
        speaker_id: The id of the broker or controller that logs it.
        speaker_epoch: The controller epoch; None for a broker, and for a controller's line without one.
        cause: The exception on the lines below, such as ``kafka.common.StateChangeFailedException: Failed to
            elect leader for …``; None if there is none.
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
        """Return the level at which release 2.8 logs this line."""
        return self._template.our_level

    @property
    def message(self) -> str:
        """Return the line's text with its prefix, as release 2.8 spells it."""
        return self._prefix() + self._template.write(self.values)

    def entry(self, time: str) -> str:
        """Return the whole entry in log4j's pattern ``[%d] %p %m (%c)%n``, with its cause below.

        Args:
            time: The broker's local time as ``2026-11-21 03:12:45,678``.
        """
        below = "" if self.cause is None else f"{self.cause}\n"
        return f"[{time}] {self.level.name} {self.message} ({LOGGER})\n{below}"

    def _prefix(self) -> str:
        prefix = _PREFIXES[self._template.speaker]
        return prefix.format(id=self.speaker_id, epoch=self.speaker_epoch)
