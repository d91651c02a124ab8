"""What all client connections hold in memory together, bytes: requests that come in, answers that go out.

Long requests wait for room (KIP-72); answers cannot wait, as somebody who reads nothing would keep everybody
else from being served. So where the answers are too many, the connection goes whose client has read nothing
for the longest time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

UNBOUNDED = -1
"""``queued.max.request.bytes`` where requests may hold whatever there is."""

MAX_ANSWER_BYTES = 268_435_456
"""The answers of all connections that wait to be sent, bytes; records that lie in files do not count.

Kafka has no such bound: there, each connection may hold one answer of any size.
"""

MAX_ARRIVING_BYTES = 268_435_456
"""The requests of all connections that have not come in whole, or wait for their turn, bytes.

Kafka has no such bound while ``queued.max.request.bytes`` is -1, its default.
"""

OnRoom = Callable[[], None]


class RequestMemory:
    """The memory of requests (``SimpleMemoryPool`` of Kafka 2.8, which is not strict).

    A request is given all that it needs at once, or nothing: requests that hold a part would wait for each
    other for ever. It is given while any room is left, so the bound is exceeded by one request at most.

    Args:
        size: ``queued.max.request.bytes``: the bound in bytes; none where it is 0 or less.

    Attributes:
        used: The bytes that are taken.
    """

    def __init__(self, size: int = UNBOUNDED) -> None:
        self._size = size
        self._waiting: dict[OnRoom, None] = {}
        self._is_waking = False
        self.used = 0

    @property
    def is_bounded(self) -> bool:
        """Whether there is a bound."""
        return self._size > 0

    @property
    def available(self) -> int:
        """The bytes that are left; as in Kafka 0 also where the bound is exceeded, 2^63 - 1 without one."""
        return max(0, self._size - self.used) if self.is_bounded else 2**63 - 1

    @property
    def waiting(self) -> int:
        """How many wait for room."""
        return len(self._waiting)

    def take(self, size: int, on_room: OnRoom) -> bool:
        """Take ``size`` bytes; where none are left take nothing, and have ``on_room`` called when some are.

        Whoever waits is called once, in the order of the first calls, and then asks again.
        """
        if not self.available:
            self._waiting[on_room] = None
            return False
        self._waiting.pop(on_room, None)
        self.used += size
        return True

    def give_back(self, size: int) -> None:
        """Give back bytes that were taken."""
        self.used -= size
        if self._waiting and not self._is_waking:
            self._is_waking = True
            asyncio.get_running_loop().call_soon(self._wake)

    def forget(self, on_room: OnRoom) -> None:
        """Do not call ``on_room`` any more."""
        self._waiting.pop(on_room, None)

    def _wake(self) -> None:
        self._is_waking = False
        while self._waiting and self.available:
            on_room = next(iter(self._waiting))
            del self._waiting[on_room]
            on_room()


class Evictable(Protocol):
    """What holds memory: one connection's output or input."""

    def evict(self) -> None:
        """Drop what is held; close the connection, whose client is too slow, if it waits for that."""
        ...


class AnswerMemory:
    """The memory of answers that wait to be sent.

    Args:
        limit: How many bytes all of them may have; one that is larger is sent where it is the only one.

    Attributes:
        limit: As given.
        used: The bytes that are held.
    """

    def __init__(self, limit: int = MAX_ANSWER_BYTES) -> None:
        self.limit = limit
        # Ordered: whose client took something longest ago comes first.
        self._held: dict[Evictable, int] = {}
        self.used = 0

    def holds(self, holder: Evictable, size: int) -> None:
        """Note that ``holder`` holds ``size`` bytes by now; its client took some, or they are new.

        Where all are too many, those are evicted whose clients took something longest ago.
        """
        self.used += size - self._held.pop(holder, 0)
        if size:
            self._held[holder] = size
        while self.used > self.limit and len(self._held) > 1:
            slowest = next(iter(self._held))
            self.used -= self._held.pop(slowest)
            slowest.evict()


class ArrivingMemory(AnswerMemory):
    """The memory of requests that come in: who sent nothing for the longest time makes room.

    Args:
        limit: How many bytes all of them may have; one that is larger comes in where it is the only one.
    """

    def __init__(self, limit: int = MAX_ARRIVING_BYTES) -> None:
        super().__init__(limit)
