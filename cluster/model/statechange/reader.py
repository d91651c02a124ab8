"""From a line of release 2.8 back to what it says."""

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
"""Where in a text each field begins and ends."""


@dataclass(frozen=True, slots=True)
class Message:
    """What a line says.

    Attributes:
        kind: What it says; None where no row of the table knows the text.
        speaker: Who its prefix says is speaking.
        speaker_id: The broker's or controller's id, None where nobody is named.
        speaker_epoch: The controller's epoch in the prefix, None where none is there.
        values: The values of the fields.
    """

    kind: StrEnum | None
    speaker: Speaker
    speaker_id: int | None
    speaker_epoch: int | None
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Prefix:
    """Who a line's first words say is speaking.

    Attributes:
        speaker: The side; ``NOBODY`` where a line has no such words.
        id_span: Where the broker's or controller's id stands in the text.
        epoch_span: Where the controller's epoch stands.
        end: Where the sentence begins.
    """

    speaker: Speaker
    id_span: tuple[int, int] | None
    epoch_span: tuple[int, int] | None
    end: int


NO_PREFIX = Prefix(Speaker.NOBODY, None, None, 0)
"""The prefix of a line that has none."""


def _side(speaker: Speaker) -> str:
    return "controller" if speaker is Speaker.CONTROLLER_WITHOUT_EPOCH else speaker.value


class Index:
    """A table of lines, by speaker and first word, so that a text is matched against a handful of patterns.

    Args:
        table: The rows; of two that fit one text, the first counts.
    """

    def __init__(self, table: Iterable[Template]) -> None:
        self._rows: dict[tuple[str, str], list[Template]] = {}
        for template in table:
            key = _side(template.speaker), template.text.partition(" ")[0]
            self._rows.setdefault(key, []).append(template)

    def find(self, speaker: Speaker, sentence: str) -> tuple[Template, Spans] | None:
        """Find the row that knows a sentence, and where in the sentence its fields are."""
        for template in self._rows.get((_side(speaker), sentence.partition(" ")[0]), ()):
            spans = template.locate(sentence)
            if spans is not None:
                return template, spans
        return None


_OURS = Index(OURS.values())


def read_message(text: str) -> Message:
    """Read the text of a line of release 2.8, without its time, level and logger."""
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
