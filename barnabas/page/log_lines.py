"""The log lines behind a change: read from the brokers' logs when somebody asks for them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

AROUND_S = 3.0
"""The seconds before and after a change within which lines may be about it."""

MOST_LINES = 60
"""The most lines of an answer."""

TAIL_BYTES = 4 << 20
"""The bytes at the end of each log that are searched."""

_FILES = ("state-change.log", "server.log", "controller.log")
_MOST_CHARACTERS = 2_000
_BROKER = re.compile(r"broker (\d+)")


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a broker's log.

    Attributes:
        broker: The broker's id.
        file: The name of the file.
        text: The line, cut after 2,000 characters.
    """

    broker: int
    file: str
    text: str


def lines_about(
    folders: Mapping[int, Path], subject: str, at_ms: int, *, around_s: float = AROUND_S
) -> list[LogLine]:
    """Return the lines of all brokers' logs that name ``subject`` around a time, by time.

    About a broker, its own lines come first.

    Args:
        folders: The folder of each broker's logs by id.
        subject: A partition such as ``orders-0``, a broker such as ``broker 1``, or other words that lines
            must have.
        at_ms: The time in milliseconds since 1970.
        around_s: Seconds before and after it.
    """
    moment = dt.datetime.fromtimestamp(at_ms / 1000).astimezone()
    first, last = (
        f"[{(moment + dt.timedelta(seconds=each)).strftime('%Y-%m-%d %H:%M:%S,%f')[:-3]}"
        for each in (-around_s, around_s)
    )
    named = re.compile(_pattern_of(subject))
    about = _BROKER.fullmatch(subject)
    own = None if about is None else int(about[1])
    found = [
        LogLine(broker, file.name, line[:_MOST_CHARACTERS])
        for broker, folder in folders.items()
        for file in _files(folder)
        for line in _tail(file)
        if first <= line[: len(first)] <= last and named.search(line)
    ]
    found.sort(key=lambda line: (own is not None and line.broker != own, line.text[: len(first)]))
    return found[:MOST_LINES]


def _pattern_of(subject: str) -> str:
    """Return a pattern of a subject in the ways in which Kafka's log lines name it."""
    about = _BROKER.fullmatch(subject)
    if about is not None:
        number = about[1]
        return rf"\b[Bb]roker(?:s? |Id=|\.id ?= ?){number}\b|/brokers/ids/{number}\b|\bid={number}\b"
    topic, _, number = subject.rpartition("-")
    fields = rf"topicName='{re.escape(topic)}', partitionIndex={re.escape(number)}\b"
    return rf"(?<![\w.-]){re.escape(subject)}(?![\w.-])|{fields}"


def _files(folder: Path) -> Iterator[Path]:
    for name in _FILES:
        yield from sorted(folder.glob(f"{name}*"))


def _tail(file: Path) -> Iterable[str]:
    try:
        with file.open("rb") as log:
            size = log.seek(0, 2)
            log.seek(max(0, size - TAIL_BYTES))
            return log.read().decode(errors="replace").splitlines()
    except OSError:
        return ()
