"""What the lines of one form have in common, learned from one of them.

Two lines of a *shape* differ in their values alone: same words, same number of blanks. Of such lines it is
known without reading them word by word where each value begins and ends: so many bytes behind a blank, so
many bytes before another. A shape is learned from one line through the grammar, and every further line that
claims it is checked to the byte: its words must be the learned ones, its values must be of their type. So a
shape never says anything that the grammar would not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

from analysis.grammar import Row, constant_columns, leadership_columns, speaker_columns, value_columns
from cluster.model.statechange import Kind, Leadership, Message, Speaker
from cluster.model.statechange.leadership import locate_leadership
from cluster.model.statechange.reader import Located, locate_message
from cluster.model.statechange.values import FORMATS, ValueFormat, is_readable

Span = tuple[int, int]
_PROBE = 7
_NUMBER = "-0123456789"
_IDS = "-0123456789,"
_MEMO_MAX = 50_000


class Start(Enum):
    """How the begin of a value is found."""

    WORD = "so many bytes behind a blank"
    CHAIN = "behind the value before it in the same word"
    BACK = "digit by digit from its end"


class End(Enum):
    """How the end of a value is found."""

    WORD = "so many bytes before a blank"
    SCAN = "letter by letter from its begin"
    NEXT = "before the value behind it in the same word"


@dataclass(frozen=True, slots=True)
class Value:
    """A value in the line that a shape is learned from.

    Attributes:
        span: Where in the message it stands.
        columns: The columns that hold it as the number it is; None where ``read`` tells them.
        read: The columns that a text in its place gives, None where it is no such value.
        letters: What it can consist of, where that tells its end inside a word; "" where it does not.
        is_last: Whether it is the number behind a topic's name, and so the last digits of its word.
        meaning: Equal for values of which ``read`` says the same of the same text.
    """

    span: Span
    columns: tuple[str, ...] | None
    read: Callable[[str], Row | None]
    meaning: tuple[str, ...] = ()
    letters: str = ""
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A value of a shape: where it stands between the blanks of any line, and what it means.

    Attributes:
        first: The word in which it begins; the message's first is 0.
        skipped: How many bytes of that word stand before it.
        last: The word in which it ends.
        spared: How many bytes of that word stand behind it.
        before: The text between the value before it, or the message's begin, and this.
        start: How its begin is found.
        end: How its end is found.
        letters: As in ``Value``.
        overlap: How many letters of the text behind it are such letters too.
        columns: As in ``Value``.
        read: As in ``Value``; answers are remembered.
    """

    first: int
    skipped: int
    last: int
    spared: int
    before: bytes
    start: Start
    end: End
    letters: str
    overlap: int
    columns: tuple[str, ...] | None
    read: Callable[[str], Row | None]


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The lines that differ in their values alone.

    Attributes:
        parts: The values, as they stand from left to right; of two that give one column the later counts.
        after: The text behind the last value.
        row: The columns that all lines of the shape have alike.
    """

    parts: tuple[Part, ...]
    after: bytes
    row: Row


def find_values(message: str) -> tuple[Row, list[Value]] | None:
    """What all lines like this one have alike, and its values as they stand from left to right.

    Of two values that give one column the later counts; None where no rule knows the message.
    """
    located = locate_message(message)
    if located.template is None:
        return None
    return _constants(located), list(_values(message, located, split=True))


def learn(message: str) -> Shape | None:
    """The shape of a message; None where no rule knows it or its values do not stand apart."""
    located = locate_message(message)
    if located.template is None or not message.isascii():
        return None
    blanks = [-1, *(place for place, letter in enumerate(message) if letter <= " "), len(message)]
    words = [(before + 1, after) for before, after in pairwise(blanks)]
    parts = None
    for split in (True, False):
        values = list(_values(message, located, split=split))
        parts = _parts(message, words, values)
        if parts is not None:
            break
    else:
        return None
    end = values[-1].span[1] if values else 0
    return Shape(parts, message[end:].encode(), _constants(located))


def _constants(located: Located) -> Row:
    template = located.template
    if template is None:
        return {}
    side = Message(template.kind, _side(located), None, None, {})
    row = constant_columns(template.kind, located.releases) | speaker_columns(side)
    return row | value_columns(template.kind, template.constants)


def _side(located: Located) -> Speaker:
    nobody = located.prefix.speaker is Speaker.NOBODY and "speaker_id" in located.spans
    return Speaker.BROKER if nobody else located.prefix.speaker


def _values(message: str, located: Located, *, split: bool) -> Iterator[Value]:
    template = located.template
    if template is None:
        return
    prefix = located.prefix
    if prefix.id_span is not None:
        is_broker = prefix.speaker is Speaker.BROKER
        yield _number(prefix.id_span, ("broker",) if is_broker else ("broker", "controller"))
    if prefix.epoch_span is not None:
        yield _number(prefix.epoch_span, () if prefix.speaker is Speaker.BROKER else ("controller_epoch",))
    for name, span in sorted(located.spans.items(), key=lambda item: item[1]):
        parts = locate_leadership(message[slice(*span)]) if split and name == "leadership" else None
        if name == "speaker_id":
            yield _number(span, ("broker",))
        elif parts is not None:
            yield from _leadership(parts, span[0])
        elif name == "tp" and " " not in message[slice(*span)]:
            yield from _topic_partition(message, span)
        else:
            yield _field(template.kind, name, span, template.formats[name])


def _field(kind: Kind, name: str, span: Span, value_format: ValueFormat) -> Value:
    if value_format.name == "int":
        row = value_columns(kind, {name: _PROBE})
        if all(value == _PROBE for value in row.values()):
            return _number(span, tuple(row))
    meaning = (kind.value, name, value_format.name)
    return _text(
        span, value_format.pattern, lambda text: value_columns(kind, {name: value_format.read(text)}), meaning
    )


def _topic_partition(message: str, span: Span) -> Iterator[Value]:
    start, end = span
    if message[start] == "[":
        start, end = start + 1, end - 1
    number = re.search(r"\d+$", message[start:end], re.ASCII)
    if number is None:
        raise ValueError(f"no partition's number at the end of {message[start:end]!r}")
    yield _text((start, start + number.start() - 1), r"[^\s,\[\]]+", _topic, ("topic",))
    yield Value((start + number.start(), end), ("partition",), _unread, is_last=True)


def _leadership(parts: dict[str, Span], offset: int) -> Iterator[Value]:
    for name, (start, end) in sorted(parts.items(), key=lambda item: item[1]):
        span = (start + offset, end + offset)
        match name:
            case "partition":
                yield _number(span, ("partition",))
            case "topic":
                yield _text(span, r"[^'\s]*", _topic, ("quoted topic",))
            case "isr" | "replicas" | "delete":
                yield replace(_leadership_text(name, span), letters="" if name == "delete" else _IDS)
            case _:
                columns = leadership_columns(Leadership(**{name: _PROBE}))  # type: ignore[arg-type]
                yield _number(span, tuple(columns))


def _leadership_text(name: str, span: Span) -> Value:
    spelled = FORMATS["flag" if name == "delete" else "ids"]
    return _text(
        span,
        spelled.pattern,
        lambda text: leadership_columns(Leadership(**{name: spelled.read(text)})),
        (name,),
    )


def _topic(text: str) -> Row:
    return {"topic": text}


def _number(span: Span, columns: tuple[str, ...]) -> Value:
    return Value(span, columns, _unread, letters=_NUMBER)


def _unread(_: str) -> Row | None:
    return None


def _text(span: Span, pattern: str, read: Callable[[str], Row], meaning: tuple[str, ...]) -> Value:
    compiled = re.compile(pattern, re.DOTALL | re.ASCII)
    known: dict[str, Row | None] = {}

    def remembered(text: str) -> Row | None:
        if text not in known:
            if len(known) >= _MEMO_MAX:
                known.clear()
            known[text] = read(text) if is_readable(text) and compiled.fullmatch(text) else None
        return known[text]

    return Value(span, None, remembered, meaning)


def _parts(message: str, words: list[Span], values: list[Value]) -> tuple[Part, ...] | None:
    """The values as parts, or None where two of one word cannot be told apart."""
    places = [(_word_at(words, value.span[0]), _word_of_end(words, value.span)) for value in values]
    shared = [False, *(before[1] == after[0] for before, after in pairwise(places)), False]
    parts: list[Part] = []
    ends = [0, *(value.span[1] for value in values)]
    for index, (value, (first, last)) in enumerate(zip(values, places, strict=True)):
        start, end = value.span
        behind = message[end : values[index + 1].span[0]] if shared[index + 1] else ""
        overlap = len(behind) - len(behind.lstrip(value.letters)) if value.letters else 0
        how_start, how_end = Start.CHAIN if shared[index] else Start.WORD, End.WORD
        if value.is_last:
            how_start = Start.BACK
        if shared[index + 1]:
            if values[index + 1].is_last:
                how_end = End.NEXT
            elif value.is_last or not value.letters or overlap == len(behind):
                return None
            else:
                how_end = End.SCAN
        parts.append(
            Part(
                first, start - words[first][0], last, words[last][1] - end,
                message[ends[index] : start].encode(), how_start, how_end, value.letters, overlap,
                value.columns, value.read,
            )
        )  # fmt: skip
    return tuple(parts)


def _word_at(words: list[Span], place: int) -> int:
    return next(index for index, (start, end) in enumerate(words) if start <= place <= end)


def _word_of_end(words: list[Span], span: Span) -> int:
    return _word_at(words, span[0]) if span[0] == span[1] else _word_at(words, span[1] - 1)
