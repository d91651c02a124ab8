"""The signs of all conditions: which condition the message of a line shows, and the columns that it fills."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from barnabas.analysis.conditions.condition import Condition
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
    loggers: tuple[str, ...]
    pattern: re.Pattern[str]


class Signs:
    """The signs of a catalogue; the first that fits a line counts.

    Args:
        conditions: The catalogue.
    """

    def __init__(self, conditions: Iterable[Condition]) -> None:
        self._by_word: dict[str, list[_Known]] = defaultdict(list)
        self._anywhere: list[_Known] = []
        for key, sign in ((each.key, sign) for each in conditions for sign in each.signs):
            lines = re.DOTALL if sign.pattern else re.NOFLAG
            pattern = re.compile(sign.pattern or sign.anywhere, re.ASCII | lines)
            known = self._by_word[first_word(sign.pattern)] if sign.pattern else self._anywhere
            known.append(_Known(key, sign.loggers, pattern))
        texts = (re.sub(r"\(\?P<\w+>", "(?:", each.pattern.pattern) for each in self._anywhere)
        self._any = re.compile("|".join(texts) or r"(?!)", re.ASCII)

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
        # A cause, such as a full disk, says more than what failed by it.
        whole = f"{text}\n{trace()}"
        for each in self._anywhere if self._any.search(whole) else ():
            found = each.pattern.search(whole)
            if found is not None and (not each.loggers or name in each.loggers):
                return row | _columns(each.key, found, _line_of(whole, found))
        for each in self._by_word.get(first_word(text, start), ()):
            said = each.pattern.fullmatch(text, start) if not each.loggers or name in each.loggers else None
            if said is not None:
                return row | _columns(each.key, said, innermost_cause(trace()))
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


def _columns(key: str, said: re.Match[str], cause: str) -> Row:
    row: Row = {"understood": True, "condition": key}
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
