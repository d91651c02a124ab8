"""The memory, in bytes, of all client connections together: incoming requests and outgoing answers.

Long requests wait for memory (KIP-72). Answers cannot wait: a client that reads nothing would then block all
others. So if the answers are too large, the connection is closed whose client has not read for the longest
time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

UNBOUNDED = -1
"""The ``queued.max.request.bytes`` that sets no bound."""

MAX_ANSWER_BYTES = 268_435_456
"""The bound on the answers of all connections that wait to be sent; records that lie in files do not count.

Kafka has no such bound: there, each connection may hold one answer of any size.
"""

MAX_ARRIVING_BYTES = 268_435_456
"""The bound on the requests of all connections that are partly received, or wait for their turn.

Kafka has no such bound while ``queued.max.request.bytes`` is -1, its default.
"""

MAX_STARTED_BYTES = 268_435_456
"""The bound on the long requests of all connections that have started and are not carried out.

Beyond it no other long request is read. A batch that must be recompressed waits for its turn, and so do
requests of many elements. It applies while ``queued.max.request.bytes``, which counts the same requests, is
-1, its default; Kafka has no such bound then.
"""

OnRoom = Callable[[], None]


class RequestMemory:
    """The memory of requests (``SimpleMemoryPool`` of Kafka 2.8, which is not strict).

    A request gets all the memory it needs at once, or none: requests with a part of it would wait for each
    other for ever. It gets it while any is left, so the bound is exceeded by one request at most.

    Args:
        size: ``queued.max.request.bytes``: the bound in bytes; none if it is 0 or less.

    Attributes:
        used: The bytes in use.
    """

    def __init__(self, size: int = UNBOUNDED) -> None:
        self._size = size
        self._waiting: dict[OnRoom, None] = {}
        self._is_waking = False
        self.used = 0

    @property
    def is_bounded(self) -> bool:
        """Return whether there is a bound."""
        return self._size > 0

    @property
    def available(self) -> int:
        """The bytes left: 0 if the bound is exceeded, as in Kafka; 2^63 - 1 without a bound."""
        return max(0, self._size - self.used) if self.is_bounded else 2**63 - 1

    @property
    def waiting(self) -> int:
        """The number of requests that wait for memory."""
        return len(self._waiting)

    def take(self, size: int, on_room: OnRoom) -> bool:
        """Take ``size`` bytes; if none are left, take nothing and call ``on_room`` when some are.

        Each caller is called back once, in the order of the first calls, and then tries again.
        """
        if not self.available:
            self._waiting[on_room] = None
            return False
        self._waiting.pop(on_room, None)
        self.used += size
        return True

    def hold(self, size: int) -> None:
        """Take ``size`` bytes that are in use already, whether or not that many are left."""
        self.used += size

    def give_back(self, size: int) -> None:
        """Give back bytes that were taken."""
        self.used -= size
        if self._waiting and not self._is_waking:
            self._is_waking = True
            asyncio.get_running_loop().call_soon(self._wake)

    def forget(self, on_room: OnRoom) -> None:
        """Cancel the call of ``on_room``."""
        self._waiting.pop(on_room, None)

    def _wake(self) -> None:
        self._is_waking = False
        while self._waiting and self.available:
            on_room = next(iter(self._waiting))
            del self._waiting[on_room]
            on_room()


class Evictable(Protocol):
    """A holder of memory: the input or output of one connection."""

    def evict(self) -> None:
        """Free the memory; close the connection, whose client is too slow, if necessary."""
        ...


class AnswerMemory:
    """The memory of answers that wait to be sent.

    Args:
        limit: The most bytes of all answers; a larger one is sent if it is the only one.

    Attributes:
        limit: The bound.
        used: The bytes in use.
    """

    def __init__(self, limit: int = MAX_ANSWER_BYTES) -> None:
        self.limit = limit
        # Ordered: the client that has not read for the longest time comes first.
        self._held: dict[Evictable, int] = {}
        self.used = 0

    def holds(self, holder: Evictable, size: int) -> None:
        """Note that ``holder`` now holds ``size`` bytes, because its client read some or new ones were added.

        If the total is too large, the holders are evicted whose clients have not read for the longest time.
        """
        self.used += size - self._held.pop(holder, 0)
        if size:
            self._held[holder] = size
        while self.used > self.limit and len(self._held) > 1:
            slowest = next(iter(self._held))
            self.used -= self._held.pop(slowest)
            slowest.evict()


class ArrivingMemory(AnswerMemory):
    """The memory of incoming requests; the connection silent for the longest time is evicted first.

    Args:
        limit: The most bytes of all requests; a larger one is received if it is the only one.
    """

    def __init__(self, limit: int = MAX_ARRIVING_BYTES) -> None:
        super().__init__(limit)
