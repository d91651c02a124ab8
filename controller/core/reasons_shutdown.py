"""Why the controller does what it does about brokers that are about to stop."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.controller.core.reasons import Reason


@dataclass(frozen=True, slots=True)
class ShuttingDown(Reason):
    """A broker is about to stop, and its leaderships were moved.

    Attributes:
        led: How many partitions with other replicas it led.
        followed: How many it followed.
        remaining: Those of the led that nobody else can lead.
    """

    broker_id: BrokerId
    led: int
    followed: int
    remaining: tuple[TopicPartition, ...]

    def __str__(self) -> str:
        moved = self.led - len(self.remaining)
        left = ", ".join(map(str, self.remaining)) or "none"
        return (
            f"broker {self.broker_id} is about to stop: {moved} of {self.led} leaders moved, "
            f"{self.followed} followers stopped; it still leads: {left}"
        )


@dataclass(frozen=True, slots=True)
class ShutdownRefused(Reason):
    """A controlled shutdown was asked for by a broker that is not there, or by its former life."""

    broker_id: BrokerId
    error: ErrorCode
    message: str

    def __str__(self) -> str:
        return (
            f"controlled shutdown of broker {self.broker_id} refused with {self.error.name}: {self.message}"
        )
