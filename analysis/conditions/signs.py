"""The signs of all conditions: which condition the message of a line shows, and the columns that it fills."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from barnabas.analysis.conditions.condition import Condition, Sign
from barnabas.analysis.reading.brokers.rule import (
    PARTITION_PREFIX,
    THREAD_PREFIX,
    first_word,
    innermost_cause,
    speaker,
    split_prefix,
)
from barnabas.analysis.reading.events.entries import Row

_OF_PARTITION = re.compile(r"\bpartition=(?P<tp>\S+-\d+)", re.ASCII)
_PARTITION = re.compile(r"\[?(?P<topic>[^,\s\[\]]+)[-,](?P<partition>\d+)\]?", re.ASCII)
_TEXTS = ("error", "topic")


class _Known(NamedTuple):
    key: str
    sign: Sign
    pattern: re.Pattern[str]
    trace: re.Pattern[str]


class Signs:
    """The signs of a catalogue; the first that fits a line counts.

    Args:
        conditions: The catalogue.
    """

    def __init__(self, conditions: Iterable[Condition]) -> None:
        self._by_word: dict[str, list[_Known]] = defaultdict(list)
        self._anywhere: list[_Known] = []
        for each in conditions:
            for sign in each.signs:
                compiled = (re.compile(text, re.ASCII | re.DOTALL) for text in (sign.pattern, sign.trace))
                known = _Known(each.key, sign, *compiled)
                (self._by_word[first_word(sign.pattern)] if sign.pattern else self._anywhere).append(known)
        every = "|".join(f"(?:{each.sign.trace})" for each in self._anywhere)
        self._any = re.compile(re.sub(r"\(\?P<\w+>", "(?:", every) or r"(?!)", re.ASCII)

    def read(self, text: str, logger: str, trace: Callable[[], str]) -> Row | None:
        """Return the columns of a line that shows a condition, ``condition`` among them; None for others.

        Args:
            text: The message.
            logger: The logger's name.
            trace: Returns the lines below the message.
        """
        if (thread := THREAD_PREFIX.match(text)) is not None:
            text = text[thread.end() :]
        row, start = _opening(text)
        name = logger.rpartition(".")[2]
        for each in self._by_word.get(first_word(text, start), ()):
            if each.sign.loggers and name not in each.sign.loggers:
                continue
            said = each.pattern.fullmatch(text, start)
            if said is None or (each.sign.trace and each.trace.search(trace()) is None):
                continue
            return row | _columns(each, said, innermost_cause(trace()))
        whole = f"{text}\n{trace()}"
        if self._any.search(whole) is None:
            return None
        for each in self._anywhere:
            found = each.trace.search(whole)
            if found is not None and (not each.sign.loggers or name in each.sign.loggers):
                return row | _columns(each, found, _line_of(whole, found))
        return None


def _opening(text: str) -> tuple[Row, int]:
    """Return what the prefix of a message says of its writer and its partition, and the end of the prefix."""
    found = PARTITION_PREFIX.match(text)
    if found is not None:
        row: Row = {
            "broker": int(found["broker"] or found["old_broker"]),
            "topic": found["topic"] or found["old_topic"],
            "partition": int(found["partition"] or found["old_partition"]),
        }
        return row, found.end()
    who, start = split_prefix(text)
    broker = speaker(who).broker
    of = _OF_PARTITION.search(who)
    return ({} if broker is None else {"broker": broker}) | (
        {} if of is None else _partition(of["tp"])
    ), start


def _columns(known: _Known, said: re.Match[str], cause: str) -> Row:
    row: Row = {"understood": True, "condition": known.key}
    for name, text in said.groupdict().items():
        if text is None:
            continue
        row |= _partition(text) if name == "tp" else {name: text if name in _TEXTS else int(text)}
    return {"error": cause} | row if cause else row


def _partition(text: str) -> Row:
    found = _PARTITION.fullmatch(text)
    return {} if found is None else {"topic": found["topic"], "partition": int(found["partition"])}


def _line_of(text: str, found: re.Match[str]) -> str:
    begin = text.rfind("\n", 0, found.start()) + 1
    end = text.find("\n", found.end())
    return text[begin : None if end < 0 else end].strip().removeprefix("Caused by: ")
