"""The history of a run: what clients attempted and with what outcome, in the order observed.

The checker reads nothing but the history, so a run can be judged again from its file at any time. An attempt
to write is a ``Sent``, followed by at most one of ``Acked``, ``Failed`` and ``Unknown``, as Jepsen's
``invoke`` is followed by ``ok``, ``fail`` or ``info``. Without any of these the outcome is unknown, too.
Times are seconds on one monotonic clock, 0 at the start of the run: ``time`` of the event or the answer,
``asked`` of the question. ``process`` is the name of the client.

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
class _Timed:
    time: float


@dataclass(frozen=True, slots=True)
class _OfPartition(_Timed):
    process: str
    partition: TopicPartition


@dataclass(frozen=True, slots=True)
class _OfValue(_OfPartition):
    value: str


@dataclass(frozen=True, slots=True)
class Sent(_OfValue):
    """An attempt of a producer, whose sends to one partition are ordered, to write a value of its own."""


@dataclass(frozen=True, slots=True)
class Acked(_OfValue):
    """An acknowledgement: the cluster promised to keep the value.

    Attributes:
        offset: The value's offset; None if the client did not learn it.
    """

    offset: int | None


@dataclass(frozen=True, slots=True)
class Failed(_OfValue):
    """A refusal before any log could hold the value, which therefore was certainly not written."""

    error: str


@dataclass(frozen=True, slots=True)
class Unknown(_OfValue):
    """An unknown outcome: the response was lost or late, so the value may have been written."""

    error: str


@dataclass(frozen=True, slots=True)
class Read(_OfPartition):
    """A record that a consumer received, with its offset."""

    offset: int
    value: str


@dataclass(frozen=True, slots=True)
class Tail(_OfPartition):
    """The end of reading a whole partition.

    Attributes:
        position: The next offset that the reader would have read.
        end: The last high watermark that the reader learned; everything below it could be read. None if no
            broker answered.
    """

    position: int
    end: int | None


@dataclass(frozen=True, slots=True)
class Fault(_Timed):
    """An action of the nemesis, such as ``SIGKILL broker 2, which leads most partitions``."""

    what: str


class Phase(StrEnum):
    """The phases of a nemesis."""

    INJECT = "strike"
    MISSED = "missed"
    HEAL = "heal"
    RECOVERED = "recovered"


@dataclass(frozen=True, slots=True)
class Disturbed(_Timed):
    """A phase of a scheduled nemesis: it was injected, missed or healed, or the cluster recovered from it.

    Attributes:
        nemesis: The name of the nemesis.
        detail: The victims, or the reason why it missed; a nemesis that missed may still have had some
            effect.
    """

    nemesis: str
    phase: Phase
    detail: str


@dataclass(frozen=True, slots=True)
class Joined(_Timed):
    """The start of a producer that may differ from the default, which is idempotent.

    Attributes:
        idempotent: Whether the cluster must not write the producer's retries twice.
    """

    process: str
    idempotent: bool


@dataclass(frozen=True, slots=True)
class Deleted(_Timed):
    """A request to delete a topic, whose records may be gone from now on."""

    topic: str


@dataclass(frozen=True, slots=True)
class Created(_Timed):
    """The creation of a topic, which is another one than a deleted topic of its name."""

    topic: str


@dataclass(frozen=True, slots=True)
class _Asked(_OfPartition):
    asked: float


@dataclass(frozen=True, slots=True)
class Looked(_Asked):
    """A reader's question for the end of a partition, and the high watermark in the answer."""

    end: int


@dataclass(frozen=True, slots=True)
class Committed(_Asked):
    """An acknowledged commit of a member of the consumer group."""

    offset: int


@dataclass(frozen=True, slots=True)
class Fetched(_Asked):
    """An answer to the question what the consumer group has committed; None if that is nothing."""

    offset: int | None


Op = (
    Sent
    | Acked
    | Failed
    | Unknown
    | Read
    | Tail
    | Fault
    | Disturbed
    | Joined
    | Deleted
    | Created
    | Looked
    | Committed
    | Fetched
)

_KINDS: dict[str, type[Op]] = {kind.__name__.lower(): kind for kind in get_args(Op)}


_ENCODER = json.JSONEncoder(separators=(",", ":"))


def encode(op: Op) -> str:
    """Encode an op as one line of JSON without the line feed."""
    return _ENCODER.encode({"op": type(op).__name__.lower(), **asdict(op)})


def decode(line: str) -> Op:
    """Decode the op of one line.

    Raises:
        ValueError: The line is not the JSON of an op; the message says what was found.
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
    """A history in memory, to which any number of threads append (which is atomic for a list in CPython).

    Args:
        clock: Returns seconds; only differences count.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._start = clock()
        self._ops: list[Op] = []

    def now(self) -> float:
        """Return the seconds since this history began."""
        return self._clock() - self._start

    def add(self, op: Op) -> None:
        """Append an op."""
        self._ops.append(op)

    def fault(self, what: str) -> None:
        """Append what the nemesis is about to do."""
        self.add(Fault(self.now(), what))

    def ops(self) -> tuple[Op, ...]:
        """Return all ops so far, the oldest first."""
        return tuple(self._ops)


def save(path: Path, ops: Iterable[Op]) -> None:
    """Write ``ops`` to a file, one on each line."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(encode(op) + "\n" for op in ops)


def load(path: Path) -> Iterator[Op]:
    """Read the ops of a file that ``save`` wrote.

    Raises:
        ValueError: A line is not an op; the message names file and line.
    """
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                yield decode(line)
            except (ValueError, TypeError) as error:
                raise ValueError(f"{path}:{number}: {error}") from error
