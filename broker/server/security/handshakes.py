"""The order in which TLS handshakes take their steps: together they are one connection of the fair queue.

A step is the most expensive thing that a stranger can ask for: 0.4 ms of CPU time with a key of RSA 2048
bits, 4.7 ms with 4096. A hundred clients that begin at once would keep the loop for as long as all take.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

from barnabas.broker.server.fairness import FairQueue, Share


class Shaking(Protocol):
    """A connection whose handshake can go on."""

    def shake_hands(self) -> None:
        """Take the next step of the handshake."""
        ...


class Handshakes:
    """The handshakes of a listener.

    Args:
        queue: The queue of the listener's requests.
    """

    def __init__(self, queue: FairQueue) -> None:
        self._queue = queue
        self._waiting: deque[Shaking] = deque()
        self.share = Share()

    def ready(self, shaking: Shaking) -> None:
        """Take a step of this handshake: now if nobody waits and the turn is not over, else later."""
        self._waiting.append(shaking)
        self._queue.ready(self)

    def serve(self) -> bool:
        """Take a step of the handshake that has waited longest; return whether another one waits."""
        self._waiting.popleft().shake_hands()
        return bool(self._waiting)
