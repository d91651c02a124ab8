"""From a line's text back to what it says: the table of lines, read.

Written for many lines: the first word of a text chooses the few rows that can match it, so that a text is
matched against a handful of patterns and not against all of them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cluster.model.statechange.kinds import Kind
from cluster.model.statechange.levels import Release, spell_releases
from cluster.model.statechange.table import TABLE
from cluster.model.statechange.template import Speaker, Template
from cluster.model.statechange.values import is_readable

_PREFIX = re.compile(
    r"\[(?P<role>Controller|Broker) id=(?P<id>-?\d+)(?: epoch=(?P<epoch>-?\d+))?\] "
    r"|(?P<old_role>Controller|Broker) (?P<old_id>-?\d+)(?: epoch (?P<old_epoch>-?\d+))? ",
    re.ASCII,
)

_LAST_WITH_SMALL_LETTERS: Release = (0, 11)


@dataclass(frozen=True, slots=True)
class Message:
    """What a line says.

    Attributes:
        kind: What it says; None where no row of the table knows the text.
        speaker: Who its prefix says is speaking.
        speaker_id: The broker's or controller's id, None where nobody is named.
        speaker_epoch: The controller's epoch in the prefix, None where none is there.
        values: The values of the fields.
        releases: Those that have this form of the line, such as ``"2.6+"``; None where no row knows the text.
    """

    kind: Kind | None
    speaker: Speaker
    speaker_id: int | None
    speaker_epoch: int | None
    values: Mapping[str, Any]
    releases: str | None = None


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


_NO_PREFIX = Prefix(Speaker.NOBODY, None, None, 0)


@dataclass(frozen=True, slots=True)
class Located:
    """Where in a line's text its values stand.

    Attributes:
        prefix: Who speaks.
        template: The row of the table that knows the text; None where none does.
        spans: Where in the text each field begins and ends.
        releases: As in ``Message``.
    """

    prefix: Prefix
    template: Template | None
    spans: Mapping[str, tuple[int, int]]
    releases: str | None


def read_message(text: str) -> Message:
    """What the text of a line, without time, level and logger, says.

    Reads all forms: ``[Controller id=1 epoch=3] Changed …`` and ``Controller 1 epoch 3 changed …``.
    """
    found = locate_message(text)
    prefix = found.prefix
    speaker_id = None if prefix.id_span is None else int(text[slice(*prefix.id_span)])
    epoch = None if prefix.epoch_span is None else int(text[slice(*prefix.epoch_span)])
    if found.template is None:
        return Message(None, prefix.speaker, speaker_id, epoch, {})
    values = found.template.read_spans(text, found.spans)
    named = values.pop("speaker_id", speaker_id)
    nobody = prefix.speaker is Speaker.NOBODY and named is not None
    side = Speaker.BROKER if nobody else prefix.speaker
    return Message(found.template.kind, side, named, epoch, values, found.releases)


def locate_message(text: str) -> Located:
    """Where the values stand that ``read_message`` reads."""
    if not is_readable(text):
        return Located(_NO_PREFIX, None, {}, None)
    prefix = _prefix(text)
    # Up to 0.11 the sentence begins with a small letter; the table holds the later spelling.
    body = text[prefix.end :]
    raised = body[:1].upper() + body[1:]
    for template in _BY_FIRST_WORD.get((_side(prefix.speaker), raised.partition(" ")[0]), ()):
        spans = template.locate(raised)
        if spans is not None:
            moved = {name: (start + prefix.end, end + prefix.end) for name, (start, end) in spans.items()}
            releases = _releases(
                template.since, template.until, is_old=text.startswith(("Broker", "Controller"))
            )
            return Located(prefix, template, moved, releases)
    return Located(prefix, None, {}, None)


def _prefix(text: str) -> Prefix:
    found = _PREFIX.match(text)
    if found is None:
        return _NO_PREFIX
    old = "" if found["role"] else "old_"
    epoch = None if found[f"{old}epoch"] is None else found.span(f"{old}epoch")
    if found[f"{old}role"] == "Broker":
        speaker = Speaker.BROKER
    else:
        speaker = Speaker.CONTROLLER_WITHOUT_EPOCH if epoch is None else Speaker.CONTROLLER
    return Prefix(speaker, found.span(f"{old}id"), epoch, found.end())


@functools.cache
def _releases(since: Release, until: Release | None, *, is_old: bool) -> str:
    if is_old and (until is None or until > _LAST_WITH_SMALL_LETTERS):
        until = _LAST_WITH_SMALL_LETTERS
    return spell_releases(since, until)


def _side(speaker: Speaker) -> str:
    return "controller" if speaker is Speaker.CONTROLLER_WITHOUT_EPOCH else speaker.value


def _index() -> dict[tuple[str, str], tuple[Template, ...]]:
    index: dict[tuple[str, str], tuple[Template, ...]] = {}
    for template in TABLE:
        key = _side(template.speaker), template.text.partition(" ")[0]
        index[key] = (*index.get(key, ()), template)
    return index


_BY_FIRST_WORD = _index()
