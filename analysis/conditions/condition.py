"""A condition: what is wrong in a cluster, by the name that operators have for it, and what shows it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Alarm(IntEnum):
    """The urgency of a condition, the most urgent first."""

    NOW = 0
    """An operator, at once: writes fail, records may be lost, or a broker is not what it seems to be."""
    SOON = 1
    """An operator, in working hours: the cluster goes on, with less redundancy or at a risk."""
    NOBODY = 2
    """Nobody: the condition explains others, was planned, or heals by itself."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A form of line that shows a condition, by its message or by a text that is in it or below it.

    Attributes:
        pattern: A regular expression for a whole message without its prefix, which begins with letters. Its
            groups are named as the columns that they fill; ``tp`` fills ``topic`` and ``partition``.
        loggers: The classes (last parts of the loggers' names) that write the line; empty for any.
        anywhere: A regular expression, instead of ``pattern``, that is found in a message or in the lines
            below it, such as the name of an exception.
    """

    pattern: str = ""
    loggers: tuple[str, ...] = ()
    anywhere: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """A kind of line of the table ``events`` that shows a condition.

    Attributes:
        kind: The kind.
        errors: Texts of which the column ``error`` contains one, if not all lines of the kind show it.
        about: The column with the broker that the line is about; a line without one does not count.
    """

    kind: StrEnum
    errors: tuple[str, ...] = ()
    about: str = "subject"


@dataclass(frozen=True, slots=True)
class Condition:
    """An entry of the catalogue.

    Attributes:
        key: The value of the column ``condition``.
        headline: A sentence of at most 20 words that names the condition and its subject. It may have
            ``{broker}`` (the one that the lines are about), ``{writer}`` (the one that wrote them),
            ``{partitions}`` and ``{topics}``, which are words such as "broker 4" and "2 partitions".
        means: A sentence that says what it is.
        source: The KIP, the issue, or the class of Kafka that defines it.
        advice: A sentence that says what to do.
        alarm: Who has to act.
        signs: The forms of line that show it, of all releases.
        kinds: The kinds of line that show it, beside those.
        least: The least number of lines that show it.
    """

    key: str
    headline: str
    means: str
    source: str
    advice: str
    alarm: Alarm
    signs: tuple[Sign, ...] = ()
    kinds: tuple[Shown, ...] = ()
    least: int = 1
