"""Effects: the actions that decisions yield; the core acts through them alone.

A decision is a generator of effects. An ``Ask`` is answered before the next entry of the mailbox is taken,
and the answer goes back into the same decision; other effects have no answer. Three answers are possible for
every ``Ask`` and end the decision: the session has expired, ZooKeeper does not answer, or another controller
has been elected (`Interruption`).
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
"""The id of a caller that waits for a ``Reply``."""

NO_CONTROLLER = BrokerId(-1)
"""The broker id of the active controller if there is none."""


@dataclass(frozen=True, slots=True)
class Effect:
    """An action for a shell to perform."""


@dataclass(frozen=True, slots=True)
class Ask(Effect, Generic[A]):
    """An effect whose answer, of type ``A``, the decision waits for."""


Decision = Generator[Effect, object, A]
"""A decision or a part of one: it yields effects, takes answers, and returns a result of type ``A``."""


class Interruption(Enum):
    """An answer that ends any decision; the value ends the sentence "given up, because ..."."""

    SESSION_EXPIRED = "the ZooKeeper session has expired"
    ZOOKEEPER_SILENT = "ZooKeeper has not answered in time"
    CONTROLLER_MOVED = "another controller has been elected"


class InterruptedDecisionError(Exception):
    """Raised inside a decision in place of an answer.

    Attributes:
        interruption: The answer that ended the decision.
    """

    def __init__(self, interruption: Interruption) -> None:
        super().__init__(interruption.value)
        self.interruption = interruption


def ask(effect: Ask[A]) -> Decision[A]:
    """Yield ``effect`` and return its answer.

    Raises:
        InterruptedDecisionError: The answer is an `Interruption`.
    """
    answer = yield effect
    if isinstance(answer, Interruption):
        raise InterruptedDecisionError(answer)
    return cast("A", answer)


def listed(values: Iterable[object]) -> str:
    """Return ``values`` for a log line: separated by commas, ``none`` if there are none."""
    return ", ".join(map(str, values)) or "none"


@dataclass(frozen=True, slots=True)
class ControllerFence:
    """The fence that a controller gets by its election and that each of its writes carries.

    Attributes:
        epoch: The controller epoch.
        epoch_version: The data version of ``/controller_epoch`` in that epoch. A write fails if the version
            has changed.
    """

    epoch: ControllerEpoch
    epoch_version: EpochVersion


NO_FENCE = ControllerFence(NO_CONTROLLER_EPOCH, EpochVersion(-1))
"""The fence on a broker that is not the controller."""


@dataclass(frozen=True, slots=True)
class StopWatching(Effect):
    """Remove all watches but that of ``/controller``."""


# Requests to brokers


@dataclass(frozen=True, slots=True)
class OpenChannel(Effect):
    """Open the channel to this incarnation of a broker."""

    broker: Broker


@dataclass(frozen=True, slots=True)
class CloseChannel(Effect):
    """Close the channel to a broker, and drop its waiting requests."""

    broker_id: BrokerId


@dataclass(frozen=True, slots=True)
class CloseAllChannels(Effect):
    """Close all channels."""


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
        request: The common part, whose broker epoch is unknown.
    """

    recipients: Mapping[BrokerId, BrokerEpoch]
    request: UpdateMetadataRequest


@dataclass(frozen=True, slots=True)
class SendStopReplica(Effect):
    """Queue a StopReplica request for a broker."""

    broker_id: BrokerId
    request: StopReplicaRequest


# Log lines and replies


@dataclass(frozen=True, slots=True)
class LogStateChange(Effect):
    """Write a line to state-change.log."""

    line: StateChange


@dataclass(frozen=True, slots=True)
class LogInfo(Effect):
    """Write a line about a decision and its reason to the controller's log at INFO.

    Attributes:
        line: The line.
        client_kind: The kind of a line that each request of a client can cause; few lines of a kind are
            written in a minute. None for all other lines.
    """

    line: str
    client_kind: str | None = None


@dataclass(frozen=True, slots=True)
class LogElection(Effect):
    """Count an elected leader, and log it at DEBUG (state-change.log has it at INFO).

    Attributes:
        partition: The partition.
        strategy: The name of Kafka's strategy.
        leader_and_isr: The leadership that was written.
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
