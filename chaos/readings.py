"""What each reader saw of a partition that it read from the first record on, in its own order. Pure.

A record that one reader was given and another, which got past it, was not, is not kept: what was read along
while faults happened says nothing about what stands there in the end. So each reader answers for itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from barnabas.cluster.model.ids import TopicPartition


@dataclass(frozen=True, slots=True)
class Jump:
    """A reader of a whole partition did not go on with the next offset: records are missing, or came again.

    Nothing of ours compacts a log or writes control records, so each offset has its record.

    Attributes:
        reader: Its process.
        expected: The offset behind the one before.
        found: The offset it was given instead, or where it stopped.
    """

    partition: TopicPartition
    reader: str
    expected: int
    found: int


@dataclass(slots=True)
class Reading:
    """What one reader was given of one partition.

    Attributes:
        values: All of them.
        position: The offset behind the highest that it was given, or where it says it stopped.
        end: The high watermark that it was told last; None where no broker would say.
        is_whole: Whether it set out to read everything, which it says when it stops.
        jumps: What it expected and what it found instead, in order.
    """

    values: set[str] = field(default_factory=set)
    position: int = 0
    end: int | None = None
    is_whole: bool = False
    jumps: list[tuple[int, int]] = field(default_factory=list)
    _next: int = 0

    def take(self, offset: int, value: str) -> None:
        """It was given a record."""
        self._step(offset)
        self._next = offset + 1
        self.values.add(value)
        self.position = max(self.position, self._next)

    def stop(self, position: int, end: int | None) -> None:
        """It read no further."""
        self._step(position)
        self._next = position
        self.position = max(self.position, position)
        self.end = end
        self.is_whole = True

    @property
    def is_finished(self) -> bool:
        """Whether it read all there was."""
        return self.end is not None and self.position >= self.end

    def proves_missing(self, offset: int | None) -> bool:
        """Whether a record that it was not given is not there, by where it was said to stand.

        Args:
            offset: None where nobody was told: then only the whole log proves it.
        """
        if offset is not None and offset < self.position:
            return True
        return self.is_finished and (offset is None or self.end is None or offset >= self.end)

    def _step(self, offset: int) -> None:
        if offset != self._next:
            self.jumps.append((self._next, offset))
