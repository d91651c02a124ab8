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
_FEW = 16
"""Of this many bytes one: so few are found one by one."""

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
    """The lines of a text.

    Attributes:
        start: Where each line begins.
        end: Where it ends, before its line feed and carriage return.
    """

    start: Places
    end: Places


def find_lines(text: Text, length: int) -> Lines:
    """The lines of the first ``length`` bytes, which end with a line feed."""
    line_feed = np.flatnonzero(text.bytes[MARGIN : MARGIN + length] == _LF) + MARGIN
    start = np.concatenate([np.array([MARGIN]), line_feed[:-1] + 1])
    returns = (text.bytes[line_feed - 1] == _CR) & (line_feed > start)
    return Lines(start, line_feed - returns)


@dataclass(frozen=True, slots=True)
class Blanks:
    """The blanks (all bytes up to 32) in some lines.

    Attributes:
        places: The place of every blank, line feeds among them.
        first: Of each line, which of the blanks is its first; 0 of lines that nobody asked for.
        last: Which is the last before the line's end.
    """

    places: Places
    first: Places
    last: Places


def find_blanks(text: Text, lines: Lines, chosen: Places) -> Blanks:
    """The blanks of the chosen lines, which are given in their order."""
    length = lines.end[chosen] + 1 - lines.start[chosen]
    if int(length.sum()) * _FEW < len(text.bytes):
        # Of few lines each byte is looked at, and of the text around them none.
        skipped = lines.start[chosen] - (np.cumsum(length) - length)
        at = np.arange(int(length.sum())) + np.repeat(skipped, length)
        places = at[text.bytes[at] <= _BLANK]
    else:
        is_blank = text.bytes <= _BLANK
        # What lies between the chosen lines is skipped, run by run.
        begins = np.concatenate([np.array([0]), lines.end[chosen] + 1])
        ends = np.append(lines.start[chosen], len(is_blank))
        apart = np.flatnonzero(ends > begins)
        for begin, end in zip(begins[apart].tolist(), ends[apart].tolist(), strict=True):
            is_blank[begin:end] = False
        places = np.flatnonzero(is_blank)
    first, last = np.zeros((2, len(lines.start)), dtype=np.int64)
    first[chosen] = np.searchsorted(places, lines.start[chosen])
    last[chosen] = np.searchsorted(places, lines.end[chosen]) - 1
    return Blanks(places, first, last)


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


def no_heads(lines: Lines) -> Heads:
    """Headers of lines that nobody has looked at."""
    count = len(lines.start)
    return Heads(
        found=np.zeros(count, dtype=np.bool_),
        start=lines.start.copy(),
        time=np.full(count, NO_TIME),
        level=np.zeros(count, dtype=np.int8),
        is_ours=np.zeros(count, dtype=np.bool_),
        message_start=lines.start.copy(),
        message_end=lines.end.copy(),
        blank=np.zeros(count, dtype=np.int64),
        words=np.zeros(count, dtype=np.int64),
    )


def find_heads(
    text: Text, lines: Lines, blanks: Blanks, chosen: Places, *, clock: Clock, heads: Heads
) -> None:
    """Fill in the headers of the chosen lines."""
    heads.blank[chosen] = blanks.first[chosen] + 3
    heads.words[chosen] = blanks.last[chosen] - blanks.first[chosen] - 2
    stock = _stock(text, lines, blanks, chosen, clock=clock, heads=heads)
    heads.found[stock] = True
    heads.is_ours[stock] = True
    heads.message_end[stock] = lines.end[stock] - len(_TAIL)
    for line in chosen[~heads.found[chosen]].tolist():
        spelled = text.slice(int(lines.start[line]), int(lines.end[line])).decode()
        head = find_head(spelled)
        if head is not None:
            _put(heads, lines, blanks, line, head.in_bytes(spelled), time=clock.moment(head.time))


def read_times(text: Text, start: Places, clock: Clock) -> NDArray[np.int64]:
    """The times of lines that begin with ``[2026-11-21 03:12:45,678]``, or ``NO_TIME``."""
    minutes = _minutes(text, start + 1, clock)
    times: NDArray[np.int64] = np.where(
        minutes == NO_TIME, NO_TIME, minutes + _microseconds(text.words(start + 17))
    )
    return times


def _stock(text: Text, lines: Lines, blanks: Blanks, chosen: Places, *, clock: Clock, heads: Heads) -> Places:
    """The lines in the stock layout; their times, levels and where their messages begin are filled in."""
    start, end = lines.start[chosen], lines.end[chosen]
    rows: Places = chosen[(text.bytes[start] == _BRACKET) & (end - start >= _SHORTEST)]
    start = lines.start[rows]
    # Three blanks stand in every header: in the time, before and behind the level.
    at_level = blanks.places[np.minimum(blanks.first[rows] + 2, len(blanks.places) - 1)]
    length = at_level - start - _LEVEL_AT
    words = low_bytes(text.words(start + _LEVEL_AT), length)
    level = np.full(len(rows), -1, dtype=np.int8)
    for word, code in _LEVEL_WORDS.items():
        level[words == np.uint64(word)] = code
    seconds = text.words(start + 17)
    good = (level >= 0) & (length >= 4) & (blanks.last[rows] > blanks.first[rows] + 2)
    good &= (text.bytes[start + 25] == _BLANK) & (text.bytes[at_level] == _BLANK)
    good &= text.bytes[at_level + 1] > _BLANK
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


def _put(heads: Heads, lines: Lines, blanks: Blanks, line: int, head: Head, *, time: int | None) -> None:
    start = int(lines.start[line])
    message_start, message_end = (start + place for place in head.message)
    heads.found[line] = True
    heads.others[line] = head
    heads.start[line] = start + head.start
    heads.time[line] = NO_TIME if time is None else time
    heads.level[line] = LEVELS.index(head.level)
    heads.is_ours[line] = head.logger == LOGGER
    heads.message_start[line] = message_start
    heads.message_end[line] = message_end
    inside = np.searchsorted(blanks.places, [message_start, message_end]).tolist()
    heads.blank[line] = inside[0]
    heads.words[line] = inside[1] - inside[0] + 1
