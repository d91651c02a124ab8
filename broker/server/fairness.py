"""The order in which connections' requests are served, and the time that they may keep the event loop.

A client can send a thousand requests at once, each of which takes milliseconds. Served in order of arrival,
they would delay every other client. So the loop runs other work after ``TURN_S`` of requests, and of the
waiting connections the one that has used the least time is served first: start-time fair queueing (Goyal,
Vin, Cheng 1996). A connection that was idle is at most ``CREDIT_S`` ahead of the busy ones. So an ordinary
client is served before those that flood the broker, and usually waits for one of their requests.
"""

from __future__ import annotations

import asyncio
from heapq import heappop, heappush
from itertools import count
from time import perf_counter
from typing import Protocol

TURN_S = 0.005
"""The seconds that requests are served before the loop runs other work; the last one may end later."""

CREDIT_S = 0.02
"""The most seconds that a connection that becomes busy is ahead of the one being served."""


class Served(Protocol):
    """A connection that waits for its turn.

    Attributes:
        share: Its place in the queue.
    """

    share: Share

    def serve(self) -> bool:
        """Start one request if one may start; return whether another one waits."""
        ...


class Share:
    """The time that one connection has used.

    Attributes:
        used_s: The queue's time at which its next request starts; requests advance it by their duration in
            seconds.
        is_queued: Whether it waits in the queue.
    """

    __slots__ = ("is_queued", "used_s")

    def __init__(self) -> None:
        self.used_s = 0.0
        self.is_queued = False


class FairQueue:
    """The queue of a broker's connections with requests to serve; see the module."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, Served]] = []
        self._numbers = count()
        self._started_s = 0.0
        self._spent_s = 0.0
        self._has_turn_ahead = False

    def ready(self, served: Served) -> None:
        """Serve a request of this connection: now if none waits and the turn is not over, else later."""
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
        share.is_queued = True  # A wake-up of this connection while it is served must not serve it again.
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
