"""The readings of a partition by each reader, in its own order from the first record on. Pure.

Each reader is judged alone: a record that one reader received during faults may be missing for a reader that
comes later, which then counts as lost.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from barnabas.cluster.model.ids import TopicPartition


@dataclass(frozen=True, slots=True)
class Jump:
    """A jump of a reader of a whole partition: the next record did not have the next offset.

    Records are missing or were received again. The logs are not compacted and hold no control records, so
    every offset has a record.

    Attributes:
        reader: The reader's process.
        expected: The offset after the previous record.
        found: The offset of the record received instead, or at which the reader stopped.
    """

    partition: TopicPartition
    reader: str
    expected: int
    found: int


@dataclass(slots=True)
class Reading:
    """The records that one reader received from one partition.

    Attributes:
        values: All values.
        position: The offset after the highest record received, or at which the reader stopped.
        end: The last high watermark that the reader learned; None if no broker answered.
        is_whole: Whether the reader meant to read everything, which its ``Tail`` shows.
        jumps: The expected and the actual offset of each jump, in order.
    """

    values: set[str] = field(default_factory=set)
    position: int = 0
    end: int | None = None
    is_whole: bool = False
    jumps: list[tuple[int, int]] = field(default_factory=list)
    _next: int = 0

    def take(self, offset: int, value: str) -> None:
        """Add a record that the reader received."""
        self._step(offset)
        self._next = offset + 1
        self.values.add(value)
        self.position = max(self.position, self._next)

    def stop(self, position: int, end: int | None) -> None:
        """Record where the reader stopped."""
        self._step(position)
        self._next = position
        self.position = max(self.position, position)
        self.end = end
        self.is_whole = True

    @property
    def is_finished(self) -> bool:
        """Return whether the reader reached the end."""
        return self.end is not None and self.position >= self.end

    def proves_missing(self, offset: int | None) -> bool:
        """Return whether a record that the reader did not receive is certainly missing at ``offset``.

        Args:
            offset: The record's offset; None if it is unknown, in which case only a complete reading proves
                it.
        """
        if offset is not None and offset < self.position:
            return True
        return self.is_finished and (offset is None or self.end is None or offset >= self.end)

    def _step(self, offset: int) -> None:
        if offset != self._next:
            self.jumps.append((self._next, offset))
