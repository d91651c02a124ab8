"""One row of the table of lines: a text with named, typed fields, from which line and pattern both come.

A text holds fields as ``<name>``, ``<name:format>`` or ``<name=constant>``. A field without a format has the
one that its name implies or that is called like it, an integer where there is none. A constant is a part of
the text that is also a value: in ``Changed partition <tp> state from <from> to <to=NewPartition> …`` the
state reached is always the same.
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
    """Who a line's prefix says is speaking."""

    CONTROLLER = "controller"
    """``[Controller id=1 epoch=3] ``."""
    CONTROLLER_WITHOUT_EPOCH = "controller-without-epoch"
    """``[Controller id=1] ``, of lines logged outside a transition."""
    BROKER = "broker"
    """``[Broker id=1] ``."""
    NOBODY = "nobody"
    """No prefix at all."""


@dataclass(frozen=True, slots=True)
class Template:
    """One form of one kind of line, in a range of releases.

    Attributes:
        kind: What it says.
        speaker: Who says it.
        levels: Its level, each with the first release that has it, in ascending order.
        since: The first release with this form.
        until: The last release with this form, None for to this day.
        text: The line without its prefix.
        spellings: The formats that the fields name.
        pattern: A regular expression for the whole of such a text; one named group for each field that is no
            constant.
        formats: The format of each field that is no constant.
        constants: The fields whose value is always the same.
        our_level: The line's level in our release.
        form: The text as a ``%`` format, for the values of ``blanks`` in order.
        blanks: The names of the fields that are no constants, as they occur in the text.
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
        """Whether the release that our brokers are has this form."""
        return is_between(OUR_RELEASE, self.since, self.until)

    def level_in(self, moment: Release) -> Level:
        """The line's level in that release."""
        level = self.levels[0][1]
        for since, later in self.levels:
            if since <= moment:
                level = later
        return level

    def write(self, values: Mapping[str, Any]) -> str:
        """The text with the fields filled in.

        Raises:
            ValueError: Where a field is missing or is none of this template's.
        """
        if values.keys() != self.formats.keys():
            raise ValueError(
                f"the line {self.kind.value!r} has the fields {sorted(self.formats)}, not {sorted(values)}"
            )
        return self.form % tuple([self.formats[name].write(values[name]) for name in self.blanks])

    def read(self, text: str) -> dict[str, Any] | None:
        """The values of the fields, constants included, or None where ``text`` is not of this form."""
        spans = self.locate(text)
        return None if spans is None else self.read_spans(text, spans)

    def locate(self, text: str) -> dict[str, tuple[int, int]] | None:
        """Where each field that is no constant stands, or None where ``text`` is not of this form."""
        found = _compiled(self.pattern).fullmatch(text)
        return None if found is None else {name: found.span(name) for name in self.formats}

    def read_spans(self, text: str, spans: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
        """The values of the fields, constants included, from where ``locate`` found them."""
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
    """A row of the table, in the words that a table can be read in.

    Args:
        kind: What it says.
        speaker: Who says it.
        level: ``"TRACE"``, or with changes ``"TRACE, INFO from 2.6"``.
        releases: Those with this form: ``"2.6+"``, ``"0.8 to 1.0"`` or ``"0.8.0"`` alone.
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
    """Compiled when a line is first read: a broker writes only, and saves a tenth of its start."""
    return re.compile(pattern, re.DOTALL | re.ASCII)
