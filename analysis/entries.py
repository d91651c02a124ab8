"""From a block of a log to its entries: where each begins and ends, when and by whom it was logged.

A line with a header begins an entry, every other line belongs to the entry above it. The stock layout
``[time] LEVEL message (state.change.logger)`` is found in all lines at once; a line that is laid out
otherwise is looked at alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analysis.bytewise import MARGIN, Mask, Places, Text, are_digits, low_bytes
from analysis.grammar import Head, find_head
from analysis.times import Clock
from cluster.model.statechange import LOGGER

LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
"""The levels, by the codes that ``Entries.level`` holds."""

NO_TIME = np.iinfo(np.int64).min
"""Of an entry that has no time."""

_LF, _CR, _BRACKET, _BLANK = b"\n\r[ "
_TAIL = f" ({LOGGER})".encode()
_LEVEL_AT, _SHORTEST = 26, 26 + len("INFO") + len(_TAIL)
_LEVEL_WORDS = {int.from_bytes(level.encode(), "little"): code for code, level in enumerate(LEVELS)}
_CONTROLLER_REST, _BROKER_REST = len("[Contro"), len("[Br")
_CONTROLLER = tuple(np.uint64(int.from_bytes(part, "little")) for part in (b"[Control", b"ller id="))
_BROKER = tuple(np.uint64(int.from_bytes(part, "little")) for part in (b"[Broker ", b"oker id="))
# Of ":45,678]" the digits and what stands between them; the gaps of the former are filled with zeros.
_SECONDS_DIGITS = np.uint64(int.from_bytes(b"\0\xff\xff\0\xff\xff\xff\0", "little"))
_SECONDS_MARKS = np.uint64(int.from_bytes(b":\0\0,\0\0\0]", "little"))
_SECONDS_FILL = np.uint64(int.from_bytes(b"0\0\0" + b"0" + b"\0\0\0" + b"0", "little"))


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a text and the blanks (all bytes up to 32) in them.

    Attributes:
        blanks: The place of every blank, line feeds among them.
        start: Where each line begins.
        end: Where it ends, before its line feed and carriage return.
        first: Which of the blanks is the line's first.
        last: Which of the blanks is the last before ``end``.
    """

    blanks: Places
    start: Places
    end: Places
    first: Places
    last: Places


def find_lines(text: Text, length: int) -> Lines:
    """The lines of the first ``length`` bytes, which end with a line feed."""
    body = text.bytes[MARGIN : MARGIN + length]
    blanks = np.flatnonzero(body <= _BLANK) + MARGIN
    feeds = np.flatnonzero(text.bytes[blanks] == _LF)
    line_feed = blanks[feeds]
    start = np.concatenate([np.array([MARGIN]), line_feed[:-1] + 1])
    returns = (text.bytes[line_feed - 1] == _CR) & (line_feed > start)
    first = np.concatenate([np.array([0]), feeds[:-1] + 1])
    return Lines(blanks, start, line_feed - returns, first, feeds - 1 - returns)


@dataclass(slots=True)
class Heads:
    """The header of each line that has one; a line without is marked in ``found``.

    Attributes:
        found: Whether the line has a header.
        start: Where the header begins.
        time: Microseconds since 1970 in UTC, or ``NO_TIME``.
        level: A code of ``LEVELS``.
        is_ours: Whether the line names our logger.
        message_start: Where the message begins.
        message_end: Where it ends.
        blank: Which of the blanks stands before the message's second word.
        words: How many words, parted by single blanks, the message has.
        others: The lines that were looked at alone.
    """

    found: Mask
    start: Places
    time: NDArray[np.int64]
    level: NDArray[np.int8]
    is_ours: Mask
    message_start: Places
    message_end: Places
    blank: Places
    words: Places
    others: dict[int, Head] = field(default_factory=dict)


def find_heads(text: Text, lines: Lines, clock: Clock) -> Heads:
    """The headers of all lines."""
    count = len(lines.start)
    heads = Heads(
        found=np.zeros(count, dtype=np.bool_),
        start=lines.start.copy(),
        time=np.full(count, NO_TIME),
        level=np.zeros(count, dtype=np.int8),
        is_ours=np.zeros(count, dtype=np.bool_),
        message_start=lines.start.copy(),
        message_end=lines.end.copy(),
        blank=lines.first + 3,
        words=lines.last - lines.first - 2,
    )
    stock = _stock(text, lines, heads, clock)
    heads.found[stock] = True
    heads.is_ours[stock] = True
    heads.message_end[stock] = lines.end[stock] - len(_TAIL)
    for line in np.flatnonzero(~heads.found).tolist():
        head = find_head(text.slice(int(lines.start[line]), int(lines.end[line])).decode())
        if head is not None:
            _put(heads, lines, line, head, clock)
    return heads


def _stock(text: Text, lines: Lines, heads: Heads, clock: Clock) -> Places:
    """The lines in the stock layout; their times, levels and where their messages begin are filled in."""
    rows = np.flatnonzero((text.bytes[lines.start] == _BRACKET) & (lines.end - lines.start >= _SHORTEST))
    start = lines.start[rows]
    # Three blanks stand in every header: in the time, before and behind the level.
    at_level = lines.blanks[np.minimum(lines.first[rows] + 2, len(lines.blanks) - 1)]
    length = at_level - start - _LEVEL_AT
    words = low_bytes(text.words(start + _LEVEL_AT), length)
    level = np.full(len(rows), -1, dtype=np.int8)
    for word, code in _LEVEL_WORDS.items():
        level[words == np.uint64(word)] = code
    seconds = text.words(start + 17)
    good = (level >= 0) & (length >= 4) & (lines.last[rows] > lines.first[rows] + 2)
    good &= (text.bytes[start + 25] == _BLANK) & (text.bytes[at_level + 1] > _BLANK)
    good &= are_digits((seconds & _SECONDS_DIGITS) | _SECONDS_FILL)
    good &= (seconds & ~_SECONDS_DIGITS) == _SECONDS_MARKS
    good &= text.equals(lines.end[rows] - len(_TAIL), _TAIL)
    good[good] = _has_no_thread(text, at_level[good] + 1)
    minutes = _minutes(text, start[good] + 1, clock)
    good[good] = known = minutes != NO_TIME
    rows = rows[good]
    heads.time[rows] = minutes[known] + _microseconds(seconds[good])
    heads.level[rows] = level[good]
    heads.message_start[rows] = at_level[good] + 1
    return rows


def _has_no_thread(text: Text, at: Places) -> Mask:
    """Whether the message begins at the place: a bracket that is not the speaker's holds a thread's name."""
    begin = text.words(at)
    is_controller = begin == _CONTROLLER[0]
    rest = text.words(at + np.where(is_controller, _CONTROLLER_REST, _BROKER_REST))
    is_speaker = np.where(is_controller, rest == _CONTROLLER[1], (begin == _BROKER[0]) & (rest == _BROKER[1]))
    answer: Mask = is_speaker | (text.bytes[at] != _BRACKET)
    return answer


def _minutes(text: Text, at: Places, clock: Clock) -> NDArray[np.int64]:
    """The minutes that stand at the places; lines of one minute mostly follow each other."""
    date, hour = text.words(at), text.words(at + 8)
    if not len(at):
        return np.zeros(0, dtype=np.int64)
    changes = np.flatnonzero((date[1:] != date[:-1]) | (hour[1:] != hour[:-1])) + 1
    starts = np.concatenate([np.array([0]), changes])
    spelled = [text.slice(place, place + 16).decode(errors="replace") for place in at[starts].tolist()]
    minutes = [clock.minute(each) for each in spelled]
    values = np.array([NO_TIME if minute is None else minute for minute in minutes], dtype=np.int64)
    return np.repeat(values, np.diff(np.append(starts, len(at))))


def _microseconds(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Of ``:45,678]``."""

    def digit(place: int) -> NDArray[np.int64]:
        return ((words >> np.uint64(8 * place)) & np.uint64(15)).astype(np.int64)

    seconds = digit(1) * 10 + digit(2)
    return (seconds * 1000 + digit(4) * 100 + digit(5) * 10 + digit(6)) * 1000


def _put(heads: Heads, lines: Lines, line: int, head: Head, clock: Clock) -> None:
    start = int(lines.start[line])
    message_start, message_end = (start + place for place in head.message)
    time = clock.moment(head.time)
    heads.found[line] = True
    heads.others[line] = head
    heads.start[line] = start + head.start
    heads.time[line] = NO_TIME if time is None else time
    heads.level[line] = LEVELS.index(head.level)
    heads.is_ours[line] = head.logger == LOGGER
    heads.message_start[line] = message_start
    heads.message_end[line] = message_end
    inside = np.searchsorted(lines.blanks, [message_start, message_end]).tolist()
    heads.blank[line] = inside[0]
    heads.words[line] = inside[1] - inside[0] + 1
