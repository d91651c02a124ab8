"""What clients attempted and what came of it, in the order it was seen.

A history is the only thing the checker reads, so a run can be judged again years later from its file. An
attempt to write is a ``Sent`` and later at most one of ``Acked``, ``Failed`` and ``Unknown``, as in Jepsen an
``invoke`` is followed by ``ok``, ``fail`` or ``info``; without any of them its outcome is unknown too. Times
are seconds on one monotonic clock, 0 at the start of the run.

On disk: one JSON object a line, ``{"op": "acked", "time": 1.25, ...}``, with the attributes' names as keys.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args

from barnabas.cluster.model.ids import TopicPartition


@dataclass(frozen=True, slots=True)
class Sent:
    """A producer handed this value to its client.

    Attributes:
        time: When, in seconds.
        process: The producer's name; its sends to one partition are ordered among themselves.
        partition: Where to.
        value: What, never sent by anybody else.
    """

    time: float
    process: str
    partition: TopicPartition
    value: str


@dataclass(frozen=True, slots=True)
class Acked:
    """The cluster promised to keep the value.

    Attributes:
        offset: Where it stands, or None where the client was not told.
    """

    time: float
    process: str
    partition: TopicPartition
    value: str
    offset: int | None


@dataclass(frozen=True, slots=True)
class Failed:
    """The value was certainly not written: it was refused before any log could hold it.

    Attributes:
        error: What the client said.
    """

    time: float
    process: str
    partition: TopicPartition
    value: str
    error: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody can say whether the value was written: the answer was lost or came too late.

    Attributes:
        error: What the client said.
    """

    time: float
    process: str
    partition: TopicPartition
    value: str
    error: str


@dataclass(frozen=True, slots=True)
class Read:
    """A consumer was given this value at this offset."""

    time: float
    process: str
    partition: TopicPartition
    offset: int
    value: str


@dataclass(frozen=True, slots=True)
class Tail:
    """Where a reader of a whole partition stopped.

    Attributes:
        position: The next offset it would have read.
        end: The high watermark it was told last: everything below was there to be read. None where no broker
            would say.
    """

    time: float
    process: str
    partition: TopicPartition
    position: int
    end: int | None


@dataclass(frozen=True, slots=True)
class Fault:
    """The nemesis did something.

    Attributes:
        what: A sentence, such as ``SIGKILL broker 2, which leads most partitions``.
    """

    time: float
    what: str


class Phase(StrEnum):
    """Of a nemesis."""

    STRIKE = "strike"
    MISSED = "missed"
    HEAL = "heal"
    RECOVERED = "recovered"


@dataclass(frozen=True, slots=True)
class Disturbed:
    """A nemesis of a schedule struck, missed after all, was undone, or the cluster is whole again after it.

    Attributes:
        nemesis: Its name.
        detail: Whom it hit, in words, or why it missed; something of it may have been done all the same.
    """

    time: float
    nemesis: str
    phase: Phase
    detail: str


@dataclass(frozen=True, slots=True)
class Joined:
    """A producer that does not promise what others do; without this a producer is idempotent.

    Attributes:
        idempotent: Whether its retries may not be written twice.
    """

    time: float
    process: str
    idempotent: bool


@dataclass(frozen=True, slots=True)
class Deleted:
    """The deletion of a topic was asked for: from now on its records may be gone."""

    time: float
    topic: str


@dataclass(frozen=True, slots=True)
class Looked:
    """A reader asked where a partition ends.

    Attributes:
        time: When it was answered.
        asked: When it asked.
        end: The high watermark it was told.
    """

    time: float
    process: str
    partition: TopicPartition
    asked: float
    end: int


Op = Sent | Acked | Failed | Unknown | Read | Tail | Fault | Disturbed | Joined | Deleted | Looked

_KINDS: dict[str, type[Op]] = {kind.__name__.lower(): kind for kind in get_args(Op)}


_ENCODER = json.JSONEncoder(separators=(",", ":"))


def encode(op: Op) -> str:
    """One line of JSON, without the newline."""
    return _ENCODER.encode({"op": type(op).__name__.lower(), **asdict(op)})


def decode(line: str) -> Op:
    """The op of one line.

    Raises:
        ValueError: The line is no JSON, or no op of ours; the message says what was found.
    """
    body: dict[str, Any] = json.loads(line)
    name = body.pop("op", None)
    kind = _KINDS.get(name)
    if kind is None:
        raise ValueError(f"op is {name!r}, expected one of {', '.join(_KINDS)}")
    expected = {field.name for field in fields(kind)}
    if set(body) != expected:
        raise ValueError(f"{name} has the keys {sorted(body)}, expected {sorted(expected)}")
    if "partition" in body:
        body["partition"] = TopicPartition(*body["partition"])
    if "phase" in body:
        body["phase"] = Phase(body["phase"])
    return kind(**body)


class History:
    """Ops as they happen, from any number of threads: appending to a list is atomic in CPython.

    Args:
        clock: Seconds; only differences count.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._start = clock()
        self._ops: list[Op] = []

    def now(self) -> float:
        """Seconds since this history began."""
        return self._clock() - self._start

    def add(self, op: Op) -> None:
        """Append one op."""
        self._ops.append(op)

    def fault(self, what: str) -> None:
        """Note what the nemesis is about to do."""
        self.add(Fault(self.now(), what))

    def ops(self) -> tuple[Op, ...]:
        """All ops so far, oldest first."""
        return tuple(self._ops)


def save(path: Path, ops: Iterable[Op]) -> None:
    """Write ``ops`` to a file, one a line."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(encode(op) + "\n" for op in ops)


def load(path: Path) -> Iterator[Op]:
    """The ops of a file that ``save`` wrote.

    Raises:
        ValueError: A line is no op; the message names file and line.
    """
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                yield decode(line)
            except (ValueError, TypeError) as error:
                raise ValueError(f"{path}:{number}: {error}") from error
