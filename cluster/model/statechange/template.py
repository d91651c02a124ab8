"""A row of the table of lines: a text with typed fields, which serves both to write and to read lines.

A text contains fields as ``<name>``, ``<name:format>`` or ``<name=constant>``. Without a format, a field has
the format that its name implies or that has the same name, else an integer. A constant is text that is also a
value: in ``Changed partition <tp> state from <from> to <to=NewPartition> …`` the new state is always the
same.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from barnabas.cluster.model.statechange.levels import OUR_RELEASE, Level, Release, is_between, release
from barnabas.cluster.model.statechange.values import FORMATS, ValueFormat

_FIELD = re.compile(r"<(?P<name>\w+)(?::(?P<format>\w+)|=(?P<constant>[^<>]+))?>")

_FORMAT_OF_NAME = {
    "tp": "topic_partition",
    "from": "word",
    "to": "word",
    "brokers": "id_set",
    "transition": "transition",
    "delete": "flag",
    "error": "text",
}


class Speaker(StrEnum):
    """The speakers that a prefix can name."""

    CONTROLLER = "controller"
    """The prefix ``[Controller id=1 epoch=3] ``."""
    CONTROLLER_WITHOUT_EPOCH = "controller-without-epoch"
    """The prefix ``[Controller id=1] ``, for lines logged outside a transition."""
    BROKER = "broker"
    """The prefix ``[Broker id=1] ``."""
    NOBODY = "nobody"
    """No prefix."""


@dataclass(frozen=True, slots=True)
class Template:
    """A form of a kind of line, in a range of releases.

    Attributes:
        kind: The kind of line.
        speaker: The speaker.
        levels: The levels of the line, each with its first release, in ascending order.
        since: The first release with this form.
        until: The last release with this form; None if there is no last one.
        text: The line without its prefix.
        spellings: The formats that the fields name.
        pattern: A regular expression for the whole text, with a named group for each field that is not
            constant.
        formats: The format of each field that is not constant.
        constants: The constant fields with their values.
        our_level: The line's level in our release.
        form: The text as a ``%`` format, for the values of ``blanks`` in order.
        blanks: The names of the fields that are not constant, in the order of the text.
    """

    kind: StrEnum
    speaker: Speaker
    levels: tuple[tuple[Release, Level], ...]
    since: Release
    until: Release | None
    text: str
    spellings: Mapping[str, ValueFormat] = field(default_factory=lambda: FORMATS, compare=False, repr=False)
    pattern: str = field(init=False, compare=False, repr=False)
    formats: dict[str, ValueFormat] = field(init=False, compare=False, repr=False)
    constants: dict[str, str] = field(init=False, compare=False, repr=False)
    our_level: Level = field(init=False, compare=False, repr=False)
    form: str = field(init=False, compare=False, repr=False)
    blanks: tuple[str, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        pattern, formats, constants = _parse(self.text, self.spellings)
        fields = [found for found in _FIELD.finditer(self.text) if not found["constant"]]
        form = _FIELD.sub(lambda found: found["constant"] or "%s", self.text.replace("%", "%%"))
        object.__setattr__(self, "pattern", pattern)
        object.__setattr__(self, "formats", formats)
        object.__setattr__(self, "constants", constants)
        object.__setattr__(self, "our_level", self.level_in(OUR_RELEASE))
        object.__setattr__(self, "form", form)
        object.__setattr__(self, "blanks", tuple(found["name"] for found in fields))

    @property
    def is_ours(self) -> bool:
        """Return whether our brokers' release has this form."""
        return is_between(OUR_RELEASE, self.since, self.until)

    def level_in(self, moment: Release) -> Level:
        """Return the line's level in a release."""
        level = self.levels[0][1]
        for since, later in self.levels:
            if since <= moment:
                level = later
        return level

    def write(self, values: Mapping[str, Any]) -> str:
        """Write the text with the values of its fields.

        Raises:
            ValueError: A field is missing or unknown.
        """
        if values.keys() != self.formats.keys():
            raise ValueError(
                f"the line {self.kind.value!r} has the fields {sorted(self.formats)}, not {sorted(values)}"
            )
        return self.form % tuple([self.formats[name].write(values[name]) for name in self.blanks])

    def read(self, text: str) -> dict[str, Any] | None:
        """Read the values of the fields, constants included; return None if ``text`` is not of this form."""
        spans = self.locate(text)
        return None if spans is None else self.read_spans(text, spans)

    def locate(self, text: str) -> dict[str, tuple[int, int]] | None:
        """Return the places of the fields that are not constant; None if ``text`` is not of this form."""
        found = _compiled(self.pattern).fullmatch(text)
        return None if found is None else {name: found.span(name) for name in self.formats}

    def read_spans(self, text: str, spans: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
        """Read the values of the fields, constants included, at the places that ``locate`` found."""
        values = {name: self.formats[name].read(text[start:end]) for name, (start, end) in spans.items()}
        return self.constants | values


def row(
    kind: StrEnum,
    speaker: Speaker,
    level: str,
    releases: str,
    text: str,
    *,
    spellings: Mapping[str, ValueFormat] = FORMATS,
) -> Template:
    """Create a row of the table from readable arguments.

    Args:
        kind: The kind of line.
        speaker: The speaker.
        level: The level, such as ``"TRACE"``, or with a change ``"TRACE, INFO from 2.6"``.
        releases: The releases with this form: ``"2.6+"``, ``"0.8 to 1.0"``, or ``"0.8.0"`` for a single one.
        text: The line with its fields.
        spellings: The formats that the fields name.
    """
    first, _, last = releases.partition(" to ")
    since = release(first.removesuffix("+"))
    until = None if first.endswith("+") else release(last or first)
    levels = []
    for part in level.split(", "):
        name, _, changed = part.partition(" from ")
        levels.append((release(changed) if changed else since, Level[name]))
    return Template(kind, speaker, tuple(levels), since, until, text, spellings)


def _parse(
    text: str, spellings: Mapping[str, ValueFormat]
) -> tuple[str, dict[str, ValueFormat], dict[str, str]]:
    formats: dict[str, ValueFormat] = {}
    constants: dict[str, str] = {}
    pattern = ""
    end = 0
    for found in _FIELD.finditer(text):
        name = found["name"]
        pattern += re.escape(text[end : found.start()])
        end = found.end()
        if found["constant"]:
            constants[name] = found["constant"]
            pattern += re.escape(found["constant"])
        else:
            formats[name] = spellings[
                found["format"] or _FORMAT_OF_NAME.get(name, name if name in spellings else "int")
            ]
            pattern += f"(?P<{name}>{formats[name].pattern})"
    return pattern + re.escape(text[end:]), formats, constants


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern when a line is first read, because brokers only write and so start 10 % faster."""
    return re.compile(pattern, re.DOTALL | re.ASCII)
