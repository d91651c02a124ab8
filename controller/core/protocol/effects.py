"""Effects: what a decision asks to be done, and the only way in which the core acts.

A decision is a generator of effects. An ``Ask`` is answered before the next entry of the mailbox is taken,
and the answer goes back into the same decision; every other effect is answered by nothing. Three answers fit
every ``Ask`` and end the decision: the session has expired, ZooKeeper is silent, or another controller has
been elected (`Interruption`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar, cast

from barnabas.cluster.model.brokers import Broker
from barnabas.cluster.model.commands.command import CommandResult
from barnabas.cluster.model.epochs import (
    NO_CONTROLLER_EPOCH,
    BrokerEpoch,
    ControllerEpoch,
    EpochVersion,
)
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr
from barnabas.cluster.model.requests import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from barnabas.cluster.model.statechange import StateChange

A = TypeVar("A")

Token = int
"""Names a caller who waits for a ``Reply``."""

NO_CONTROLLER = BrokerId(-1)
"""The active controller where there is none."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Something to do."""


@dataclass(frozen=True, slots=True)
class Ask(Effect, Generic[A]):
    """An effect whose answer, of type ``A``, the decision waits for."""


Decision = Generator[Effect, object, A]
"""A part of a decision: yields effects, takes answers, and comes to a result of type ``A``."""


class Interruption(Enum):
    """An answer that ends any decision; the value ends the sentence "given up, because ..."."""

    SESSION_EXPIRED = "the ZooKeeper session has expired"
    ZOOKEEPER_SILENT = "ZooKeeper has not answered in time"
    CONTROLLER_MOVED = "another controller has been elected"


class InterruptedDecisionError(Exception):
    """Raised inside a decision in place of an answer.

    Attributes:
        interruption: What ended it.
    """

    def __init__(self, interruption: Interruption) -> None:
        super().__init__(interruption.value)
        self.interruption = interruption


def ask(effect: Ask[A]) -> Decision[A]:
    """Yield ``effect`` and come to its answer.

    Raises:
        InterruptedDecisionError: The answer is an `Interruption`.
    """
    answer = yield effect
    if isinstance(answer, Interruption):
        raise InterruptedDecisionError(answer)
    return cast("A", answer)


def shortened(text: str, most: int = 255) -> str:
    """Return ``text`` for a log line: cut after ``most`` characters, with its length if it is longer."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"


def listed(values: Iterable[object]) -> str:
    """Return ``values`` for a log line: separated by commas, ``none`` if there are none."""
    return ", ".join(map(str, values)) or "none"


@dataclass(frozen=True, slots=True)
class ControllerFence:
    """The fence that a controller gets by its election and that each of its writes carries.

    Attributes:
        epoch: The controller epoch.
        epoch_version: The data version of ``/controller_epoch`` in that epoch; a write fails if it is another
            one by now.
    """

    epoch: ControllerEpoch
    epoch_version: EpochVersion


NO_FENCE = ControllerFence(NO_CONTROLLER_EPOCH, EpochVersion(-1))
"""The fence on a broker that is not the controller."""


@dataclass(frozen=True, slots=True)
class StopWatching(Effect):
    """Remove all watches but that of ``/controller``."""


# Speaking to brokers


@dataclass(frozen=True, slots=True)
class OpenChannel(Effect):
    """Begin to send to this life of a broker."""

    broker: Broker


@dataclass(frozen=True, slots=True)
class CloseChannel(Effect):
    """Stop sending to a broker, and drop what waits for it."""

    broker_id: BrokerId


@dataclass(frozen=True, slots=True)
class CloseAllChannels(Effect):
    """Stop sending to all brokers."""


@dataclass(frozen=True, slots=True)
class SendLeaderAndIsr(Effect):
    """Queue a LeaderAndIsr request for a broker."""

    broker_id: BrokerId
    request: LeaderAndIsrRequest


@dataclass(frozen=True, slots=True)
class SendUpdateMetadata(Effect):
    """Queue the same UpdateMetadata request for several brokers.

    Attributes:
        recipients: Each broker with the epoch that its copy of the request carries.
        request: What they have in common; its own broker epoch is unknown.
    """

    recipients: Mapping[BrokerId, BrokerEpoch]
    request: UpdateMetadataRequest


@dataclass(frozen=True, slots=True)
class SendStopReplica(Effect):
    """Queue a StopReplica request for a broker."""

    broker_id: BrokerId
    request: StopReplicaRequest


# Telling people and callers


@dataclass(frozen=True, slots=True)
class LogStateChange(Effect):
    """Write a line to state-change.log."""

    line: StateChange


@dataclass(frozen=True, slots=True)
class LogInfo(Effect):
    """Write a line to the controller's log at INFO: what was decided, and why.

    Attributes:
        line: The line.
        client_kind: For a line that each request of a client can cause: names its kind, of which few are
            written in a minute. None for all others.
    """

    line: str
    client_kind: str | None = None


@dataclass(frozen=True, slots=True)
class LogElection(Effect):
    """Count an elected leader, and log it at DEBUG: state-change.log has a line for each at INFO.

    Attributes:
        partition: Its partition.
        strategy: How it was chosen, by the name of Kafka's strategy.
        leader_and_isr: The leadership as it was written.
        unclean: Whether the leader comes from outside the ISR.
    """

    partition: TopicPartition
    strategy: str
    leader_and_isr: LeaderAndIsr
    unclean: bool = False

    def __str__(self) -> str:
        how = "uncleanly, from outside the ISR, " if self.unclean else ""
        elected = self.leader_and_isr
        return (
            f"{self.partition}: broker {elected.leader} elected {how}by {self.strategy} in leader epoch "
            f"{elected.leader_epoch}, ISR {listed(elected.isr)}"
        )


@dataclass(frozen=True, slots=True)
class Reply(Effect):
    """Answer the caller who holds ``token``."""

    token: Token
    result: CommandResult
