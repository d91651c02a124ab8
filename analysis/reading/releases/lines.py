"""The table of all lines of state-change.log since 0.8, and the search for the row that matches a text."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from barnabas.analysis.reading.releases.broker import BROKER_ROWS
from barnabas.analysis.reading.releases.controller import CONTROLLER_ROWS
from barnabas.analysis.reading.releases.kraft import KRAFT_ROWS
from barnabas.analysis.reading.releases.leader_and_isr import LEADER_AND_ISR_ROWS
from barnabas.analysis.reading.releases.spellings import SPELLINGS
from barnabas.cluster.model.statechange.levels import Release, spell_releases
from barnabas.cluster.model.statechange.reader import NO_PREFIX, Index, Prefix, read_prefix
from barnabas.cluster.model.statechange.table import OURS
from barnabas.cluster.model.statechange.template import Speaker, Template
from barnabas.cluster.model.statechange.values import is_readable

TABLE: tuple[Template, ...] = (
    *(replace(template, spellings=SPELLINGS) for template in OURS.values()),
    *CONTROLLER_ROWS,
    *LEADER_AND_ISR_ROWS,
    *BROKER_ROWS,
    *KRAFT_ROWS,
)
"""The rows for all lines. If two rows match a text, the right one comes first."""

_INDEX = Index(TABLE)
_OLD_PREFIX = re.compile(r"(?P<role>Controller|Broker) (?P<id>-?\d+)(?: epoch (?P<epoch>-?\d+))? ", re.ASCII)
_LAST_WITH_SMALL_LETTERS: Release = (0, 11)


@dataclass(frozen=True, slots=True)
class Located:
    """The places of the values in a line's text.

    Attributes:
        prefix: The prefix, which names the speaker.
        template: The row of the table that matches the text; None if no row does.
        spans: The begin and end of each field in the text.
        releases: The releases that write the line like this, such as ``"2.6+"``; None if no row matches.
    """

    prefix: Prefix
    template: Template | None
    spans: Mapping[str, tuple[int, int]]
    releases: str | None


def locate_message(text: str) -> Located:
    """Find the row and the fields of a message (a line without its time, level and logger).

    Both prefixes are read: ``[Controller id=1 epoch=3] Changed …`` and ``Controller 1 epoch 3 changed …``.
    """
    if not is_readable(text):
        return Located(NO_PREFIX, None, {}, None)
    prefix = read_prefix(text)
    is_old = prefix is NO_PREFIX
    if is_old:
        prefix = read_prefix(text, _OLD_PREFIX)
    # Up to 0.11 the sentence begins with a lower-case letter; the table holds the later spelling.
    sentence = text[prefix.end :]
    found = _INDEX.find(prefix.speaker, sentence[:1].upper() + sentence[1:])
    if found is None:
        return Located(prefix, None, {}, None)
    template, spans = found
    moved = {name: (start + prefix.end, end + prefix.end) for name, (start, end) in spans.items()}
    is_old = is_old and prefix.speaker is not Speaker.NOBODY
    return Located(prefix, template, moved, _releases(template.since, template.until, is_old=is_old))


@functools.cache
def _releases(since: Release, until: Release | None, *, is_old: bool) -> str:
    if is_old and (until is None or until > _LAST_WITH_SMALL_LETTERS):
        until = _LAST_WITH_SMALL_LETTERS
    return spell_releases(since, until)
