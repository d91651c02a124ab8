"""The reader of lines of release 2.8."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from barnabas.cluster.model.statechange.table import OURS
from barnabas.cluster.model.statechange.template import Speaker, Template
from barnabas.cluster.model.statechange.values import is_readable

_PREFIX = re.compile(
    r"\[(?P<role>Controller|Broker) id=(?P<id>-?\d+)(?: epoch=(?P<epoch>-?\d+))?\] ", re.ASCII
)

Spans = Mapping[str, tuple[int, int]]
"""The begin and end of each field in a text."""


@dataclass(frozen=True, slots=True)
class Message:
    """The content of a line.

    Attributes:
        kind: The kind of line; None if no row of the table matches.
        speaker: The speaker that the prefix names.
        speaker_id: The broker's or controller's id; None if there is none.
        speaker_epoch: The controller epoch in the prefix; None if there is none.
        values: The values of the fields.
    """

    kind: StrEnum | None
    speaker: Speaker
    speaker_id: int | None
    speaker_epoch: int | None
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Prefix:
    """The prefix of a line, which names the speaker.

    Attributes:
        speaker: The speaker; ``NOBODY`` if the line has no prefix.
        id_span: The begin and end of the broker's or controller's id in the text.
        epoch_span: The begin and end of the controller epoch.
        end: The end of the prefix, at which the sentence begins.
    """

    speaker: Speaker
    id_span: tuple[int, int] | None
    epoch_span: tuple[int, int] | None
    end: int


NO_PREFIX = Prefix(Speaker.NOBODY, None, None, 0)
"""The value for a line without a prefix."""


def _side(speaker: Speaker) -> str:
    return "controller" if speaker is Speaker.CONTROLLER_WITHOUT_EPOCH else speaker.value


class Index:
    """An index of a table of lines by speaker and first word, so that a text is matched against few patterns.

    Args:
        table: The rows; if two match a text, the first counts.
    """

    def __init__(self, table: Iterable[Template]) -> None:
        self._rows: dict[tuple[str, str], list[Template]] = {}
        for template in table:
            key = _side(template.speaker), template.text.partition(" ")[0]
            self._rows.setdefault(key, []).append(template)

    def find(self, speaker: Speaker, sentence: str) -> tuple[Template, Spans] | None:
        """Find the row that matches a sentence, and the places of its fields."""
        for template in self._rows.get((_side(speaker), sentence.partition(" ")[0]), ()):
            spans = template.locate(sentence)
            if spans is not None:
                return template, spans
        return None


_OURS = Index(OURS.values())


def read_message(text: str) -> Message:
    """Read a message of release 2.8 (a line without its time, level and logger)."""
    if not is_readable(text):
        return Message(None, Speaker.NOBODY, None, None, {})
    prefix = read_prefix(text)
    speaker_id = None if prefix.id_span is None else int(text[slice(*prefix.id_span)])
    epoch = None if prefix.epoch_span is None else int(text[slice(*prefix.epoch_span)])
    sentence = text[prefix.end :]
    found = _OURS.find(prefix.speaker, sentence)
    if found is None:
        return Message(None, prefix.speaker, speaker_id, epoch, {})
    template, spans = found
    return Message(template.kind, prefix.speaker, speaker_id, epoch, template.read_spans(sentence, spans))


def read_prefix(text: str, pattern: re.Pattern[str] = _PREFIX) -> Prefix:
    """Read the prefix of a line.

    Args:
        text: The line, without its time, level and logger.
        pattern: A regular expression with the groups ``role``, ``id`` and ``epoch``.
    """
    found = pattern.match(text)
    if found is None:
        return NO_PREFIX
    epoch = None if found["epoch"] is None else found.span("epoch")
    if found["role"] == "Broker":
        speaker = Speaker.BROKER
    else:
        speaker = Speaker.CONTROLLER_WITHOUT_EPOCH if epoch is None else Speaker.CONTROLLER
    return Prefix(speaker, found.span("id"), epoch, found.end())
