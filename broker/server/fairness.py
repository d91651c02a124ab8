"""Which connection's request is served next, and how long the loop may be busy with requests at a stretch.

A client can send a thousand requests at once, each of which takes milliseconds. Served as they come, they
hold up everybody. So the loop gets its turn after ``TURN_S`` of requests, and of the connections that wait,
the one that has used the least time is served first: start-time fair queueing (Goyal, Vin, Cheng 1996). A
connection that was idle has saved up ``CREDIT_S`` at most against those that were busy. So an ordinary client
goes before all that flood the broker, and mostly waits for one of their requests.
"""

from __future__ import annotations

import asyncio
from heapq import heappop, heappush
from itertools import count
from time import perf_counter
from typing import Protocol

TURN_S = 0.005
"""How long requests are served before the loop gets its turn, in seconds; the last of them may end later."""

CREDIT_S = 0.02
"""How far a connection that becomes busy lies before the one that is served, at most, in seconds."""


class Served(Protocol):
    """What waits for its share: a connection.

    Attributes:
        share: Its place in the queue.
    """

    share: Share

    def serve(self) -> bool:
        """Start one request, if one may start; True if another is there already."""
        ...


class Share:
    """What one connection has used.

    Attributes:
        used_s: The queue's time at which its next request starts: it grows by the seconds that requests take.
        is_queued: Whether it waits in the queue.
    """

    __slots__ = ("is_queued", "used_s")

    def __init__(self) -> None:
        self.used_s = 0.0
        self.is_queued = False


class FairQueue:
    """The connections of a broker that have requests to be served; see the module."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, Served]] = []
        self._numbers = count()
        self._started_s = 0.0
        self._spent_s = 0.0
        self._has_turn_ahead = False

    def ready(self, served: Served) -> None:
        """Serve a request of this connection: now, if nobody waits and the turn is not over, else later."""
        share = served.share
        if share.is_queued:
            return
        share.used_s = max(share.used_s, self._started_s - CREDIT_S)
        if self._waiting or self._spent_s >= TURN_S:
            self._queue(served)
        else:
            self._serve(served)
        if not self._has_turn_ahead:
            self._has_turn_ahead = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _queue(self, served: Served) -> None:
        served.share.is_queued = True
        heappush(self._waiting, (served.share.used_s, next(self._numbers), served))

    def _serve(self, served: Served) -> None:
        share, began = served.share, perf_counter()
        share.is_queued = True  # What it wakes while it is served does not serve it again.
        try:
            has_more = served.serve()
        finally:
            share.is_queued = False
            spent = perf_counter() - began
            share.used_s += spent
            self._spent_s += spent
        if has_more:
            self._queue(served)

    def _turn(self) -> None:
        self._has_turn_ahead = False
        self._spent_s = 0.0
        try:
            while self._waiting and self._spent_s < TURN_S:
                self._started_s, _, served = heappop(self._waiting)
                self._serve(served)
        finally:
            if self._waiting and not self._has_turn_ahead:
                self._has_turn_ahead = True
                asyncio.get_running_loop().call_soon(self._turn)
