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

_PREFIX = re.compile(
    r"\[(?P<role>Controller|Broker) id=(?P<id>-?\d+)(?: epoch=(?P<epoch>-?\d+))?\] "
    r"|(?P<old_role>Controller|Broker) (?P<old_id>-?\d+)(?: epoch (?P<old_epoch>-?\d+))? "
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


def read_message(text: str) -> Message:
    """What the text of a line, without time, level and logger, says.

    Reads all forms: ``[Controller id=1 epoch=3] Changed …`` and ``Controller 1 epoch 3 changed …``.
    """
    prefix = _PREFIX.match(text)
    if prefix is None:
        return _read_body(text, Speaker.NOBODY, None, None)
    role = prefix["role"] or prefix["old_role"]
    epoch = prefix["epoch"] or prefix["old_epoch"]
    if role == "Broker":
        speaker = Speaker.BROKER
    else:
        speaker = Speaker.CONTROLLER_WITHOUT_EPOCH if epoch is None else Speaker.CONTROLLER
    return _read_body(
        text[prefix.end() :],
        speaker,
        int(prefix["id"] or prefix["old_id"]),
        None if epoch is None else int(epoch),
    )


def _read_body(body: str, speaker: Speaker, speaker_id: int | None, epoch: int | None) -> Message:
    # Up to 0.11 the sentence begins with a small letter; the table holds the later spelling.
    raised = body[:1].upper() + body[1:]
    for template in _BY_FIRST_WORD.get((_side(speaker), raised.partition(" ")[0]), ()):
        values = template.read(raised)
        if values is not None:
            named = values.pop("speaker_id", speaker_id)
            side = Speaker.BROKER if speaker is Speaker.NOBODY and named is not None else speaker
            releases = _releases(template.since, template.until, is_old=raised != body)
            return Message(template.kind, side, named, epoch, values, releases)
    return Message(None, speaker, speaker_id, epoch, {})


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
