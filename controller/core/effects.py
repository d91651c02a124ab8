"""What a decision wants done: the only words by which the core reaches the world.

A decision is a generator of effects. An ``Ask`` is answered before the next entry of the mailbox is taken,
and the answer goes back into the same decision; every other effect is answered by nothing. Three answers fit
every ``Ask`` and end the decision: the session has expired, ZooKeeper is silent, or another controller has
been elected (`Interruption`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from typing import Generic, TypeVar, cast

from barnabas.cluster.model.brokers import Broker
from barnabas.cluster.model.commands import CommandResult
from barnabas.cluster.model.controllership import Claim, Controllership
from barnabas.cluster.model.epochs import (
    NO_CONTROLLER_EPOCH,
    BrokerEpoch,
    ControllerEpoch,
    EpochVersion,
    PartitionVersion,
)
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from barnabas.cluster.model.statechange import StateChange

A = TypeVar("A")
T = TypeVar("T")

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


@dataclass(frozen=True, slots=True)
class Breathe(Effect):
    """Nothing to do: a place in a long decision where others may run if it is time."""


BREATHE = Breathe()
BREATH = 250
"""How many partitions or replicas, a millisecond or two of work, lie between two places to breathe."""


def breaths(items: Iterable[T]) -> Iterator[tuple[T, ...]]:
    """``items``, so many at a time that a decision should yield `BREATHE` after dealing with them."""
    rest = iter(items)
    while some := tuple(islice(rest, BREATH)):
        yield some


def listed(values: Iterable[object]) -> str:
    """``values`` as log lines name them: separated by commas, ``none`` where there are none."""
    return ", ".join(map(str, values)) or "none"


# Who is the controller


@dataclass(frozen=True, slots=True)
class ReadController(Ask[Controllership]):
    """Read ``/controller``, watch it, and read ``/controller_epoch``."""


@dataclass(frozen=True, slots=True)
class Reign:
    """What a controller wins with its election, and shows with each of its writes.

    Attributes:
        epoch: Its number.
        fence: The data version of ``/controller_epoch`` while it lasts: a write under another one is refused.
    """

    epoch: ControllerEpoch
    fence: EpochVersion


NO_REIGN = Reign(NO_CONTROLLER_EPOCH, EpochVersion(-1))
"""What a broker holds that is not the controller."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Another broker was quicker."""


@dataclass(frozen=True, slots=True)
class ContestController(Ask[Reign | Lost]):
    """Delete the claim that was ``seen``, create ``/controller`` and raise its epoch in one transaction.

    Attributes:
        seen: The claim to replace; None where there was none.
        above: The latest reign known: the new one is later, even if somebody lowered ``/controller_epoch``.
    """

    seen: Claim | None
    above: ControllerEpoch


@dataclass(frozen=True, slots=True)
class RecordEpoch(Ask[Mapping[BrokerId, BrokerEpoch]]):
    """Record the epoch of this reign; the answer: the broker epochs that the controllers before dealt with.

    It comes before anything is sent or written in this epoch, so that none below it is ever used again.
    """

    reign: Reign


@dataclass(frozen=True, slots=True)
class RecordBrokers(Ask[None]):
    """Record the broker epochs that the controllers have dealt with (`ControllerRecord`)."""

    broker_epochs: Mapping[BrokerId, BrokerEpoch]
    reign: Reign


@dataclass(frozen=True, slots=True)
class GiveUpController(Ask[None]):
    """Delete ``/controller`` if this session owns it, so that everybody contests anew."""


@dataclass(frozen=True, slots=True)
class AnnounceController(Effect):
    """Tell this broker who is the controller as far as it knows; `NO_CONTROLLER` for nobody.

    Attributes:
        controller_id: Who.
        epoch: The latest reign known: this broker is to obey no earlier one from now on.
    """

    controller_id: BrokerId
    epoch: ControllerEpoch = NO_CONTROLLER_EPOCH


@dataclass(frozen=True, slots=True)
class ScheduleReelection(Effect):
    """Have `Reelect` come in ``delay_s`` seconds, instead of when it was due."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class ScheduleResend(Effect):
    """Have `ResendRequests` come in ``delay_s`` seconds."""

    delay_s: float


# Reading the cluster. Every read of a node or of children also arms its watch.


@dataclass(frozen=True, slots=True)
class ReadBrokers(Ask[Mapping[BrokerId, Broker]]):
    """All registered brokers; watches the list and each broker."""


@dataclass(frozen=True, slots=True)
class ReadTopics(Ask[frozenset[str]]):
    """The names of all topics; watches the list."""


@dataclass(frozen=True, slots=True)
class ReadAssignments(Ask[Mapping[str, Mapping[int, Assignment]]]):
    """The partitions of these topics; watches each. A topic without a node is not in the answer."""

    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadPartitionStates(Ask[Mapping[TopicPartition, PartitionState]]):
    """The leaderships as they stand; a partition without a readable one is not in the answer."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class ReadTopicConfigs(Ask[Mapping[str, Mapping[str, str]]]):
    """The settings that these topics override; a topic whose settings cannot be read is not in the answer."""

    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IsrChanges:
    """What the leaders have noted.

    Attributes:
        notes: The names of the notes, to delete them by.
        partitions: The partitions they name, each once.
    """

    notes: tuple[str, ...]
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class ReadIsrChanges(Ask[IsrChanges]):
    """All notes under ``/isr_change_notification``; watches the list."""


@dataclass(frozen=True, slots=True)
class StopWatching(Effect):
    """Hear no more of anything but ``/controller``."""


# Writing. Every write checks in its own transaction that the reign still lasts.


@dataclass(frozen=True, slots=True)
class StatesWritten:
    """What became of a write of partition states.

    Attributes:
        versions: The partitions that were written, each with the version it stands under now.
        conflicts: Those whose state had another version than expected.
        failures: Those that could not be written, each with why.
    """

    versions: Mapping[TopicPartition, PartitionVersion]
    conflicts: frozenset[TopicPartition] = frozenset()
    failures: Mapping[TopicPartition, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WritePartitionStates(Ask[StatesWritten]):
    """Write each state if it still stands under the version it carries."""

    states: Mapping[TopicPartition, PartitionState]
    reign: Reign


@dataclass(frozen=True, slots=True)
class CreatePartitionStates(Ask[Mapping[TopicPartition, str | None]]):
    """Create the nodes of new partitions; the answer holds None for each one created, else why not."""

    states: Mapping[TopicPartition, PartitionState]
    reign: Reign


@dataclass(frozen=True, slots=True)
class CreateTopic(Ask[bool]):
    """Write a topic's settings and its assignment; the answer is False where the topic is there already."""

    name: str
    assignments: Mapping[int, Assignment]
    configs: Mapping[str, str]
    reign: Reign


@dataclass(frozen=True, slots=True)
class DeleteIsrChanges(Ask[None]):
    """Delete these notes; one that is gone already is no failure."""

    notes: tuple[str, ...]
    reign: Reign


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
    """Write a line to the controller's log at INFO: what was decided, and why."""

    line: str


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
