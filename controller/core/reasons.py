"""Why the controller does what it does: one class for each thing to say, printed as a sentence."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from barnabas.cluster.model.epochs import ControllerEpoch, LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition


@dataclass(frozen=True, slots=True)
class Reason:
    """Something that the controller has to say about a decision."""


def _list(values: Collection[object]) -> str:
    return ", ".join(str(value) for value in values) or "none"


@dataclass(frozen=True, slots=True)
class ControllerIs(Reason):
    """Another broker holds ``/controller``, or (-1) no broker rightly does."""

    controller_id: BrokerId

    def __str__(self) -> str:
        if self.controller_id < 0:
            return "there is no controller now"
        return f"broker {self.controller_id} is the controller"


@dataclass(frozen=True, slots=True)
class ClaimContested(Reason):
    """What stands in ``/controller`` is no elected controller's."""

    finding: str

    def __str__(self) -> str:
        return f"{self.finding}: it is contested"


@dataclass(frozen=True, slots=True)
class ElectionWon(Reason):
    """This broker's transaction came first."""

    epoch: ControllerEpoch

    def __str__(self) -> str:
        return f"elected controller with epoch {self.epoch}"


@dataclass(frozen=True, slots=True)
class ElectionLost(Reason):
    """Another broker's transaction came first."""

    def __str__(self) -> str:
        return "another broker was elected controller"


@dataclass(frozen=True, slots=True)
class ControllerReady(Reason):
    """The failover is through."""

    epoch: ControllerEpoch
    brokers: int
    topics: int
    partitions: int

    def __str__(self) -> str:
        return (
            f"ready to serve as the controller with epoch {self.epoch}: {self.brokers} brokers, "
            f"{self.topics} topics, {self.partitions} partitions"
        )


@dataclass(frozen=True, slots=True)
class Resigned(Reason):
    """This broker is the controller no more."""

    epoch: ControllerEpoch
    because: str

    def __str__(self) -> str:
        return f"resigned as the controller with epoch {self.epoch}, because {self.because}"


@dataclass(frozen=True, slots=True)
class GaveUp(Reason):
    """A decision ended in the middle."""

    event: str
    because: str

    def __str__(self) -> str:
        return f"gave up {self.event}, because {self.because}"


@dataclass(frozen=True, slots=True)
class NotActive(Reason):
    """An event that only the active controller handles."""

    event: str

    def __str__(self) -> str:
        return f"ignored {self.event}: this broker is not the active controller"


@dataclass(frozen=True, slots=True)
class BrokersChanged(Reason):
    """The registered brokers differ from those known."""

    new: tuple[BrokerId, ...]
    bounced: tuple[BrokerId, ...]
    dead: tuple[BrokerId, ...]
    live: tuple[BrokerId, ...]

    def __str__(self) -> str:
        return (
            f"new brokers: {_list(self.new)}; bounced: {_list(self.bounced)}; dead: {_list(self.dead)}; "
            f"all live brokers: {_list(self.live)}"
        )


@dataclass(frozen=True, slots=True)
class BouncedUnseen(Reason):
    """A broker died and came back while no controller reigned, and is still in these ISRs."""

    broker_id: BrokerId
    partitions: tuple[TopicPartition, ...]

    def __str__(self) -> str:
        return f"broker {self.broker_id} bounced unseen, and leaves the ISR of {_list(self.partitions)}"


@dataclass(frozen=True, slots=True)
class AllBouncedUnseen(Reason):
    """The leader and all other live ISR members died and came back while no controller reigned."""

    partitions: tuple[TopicPartition, ...]

    def __str__(self) -> str:
        return (
            "all live ISR members bounced unseen, and their leader begins a new leader epoch in "
            f"{_list(self.partitions)}"
        )


@dataclass(frozen=True, slots=True)
class EpochBelowStates(Reason):
    """``/controller_epoch`` was lowered or deleted: states were written in a later epoch than this one."""

    epoch: ControllerEpoch
    written: ControllerEpoch

    def __str__(self) -> str:
        return (
            f"controller epoch {self.epoch} is below {self.written}, in which states were written: a later "
            "one is needed"
        )


@dataclass(frozen=True, slots=True)
class BrokerUpdated(Reason):
    """A live broker changed its registration."""

    broker_id: BrokerId

    def __str__(self) -> str:
        return f"broker {self.broker_id} has other endpoints now"


@dataclass(frozen=True, slots=True)
class LeaderElected(Reason):
    """A partition has a leader in a new leader epoch."""

    partition: TopicPartition
    strategy: str
    leader: BrokerId
    leader_epoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    unclean: bool = False

    def __str__(self) -> str:
        how = "uncleanly, from outside the ISR, " if self.unclean else ""
        return (
            f"{self.partition}: broker {self.leader} elected {how}by {self.strategy} in leader epoch "
            f"{self.leader_epoch}, ISR {_list(self.isr)}"
        )


@dataclass(frozen=True, slots=True)
class NoLeaderElected(Reason):
    """An election came to nothing; the partition stays as it is."""

    partition: TopicPartition
    strategy: str
    because: str

    def __str__(self) -> str:
        return f"{self.partition}: no leader by {self.strategy}, because {self.because}"


@dataclass(frozen=True, slots=True)
class StateConflict(Reason):
    """A leader wrote its ISR at the same time; its version is read and the decision made again."""

    partitions: tuple[TopicPartition, ...]

    def __str__(self) -> str:
        return f"changed meanwhile by their leaders, read again: {_list(self.partitions)}"


@dataclass(frozen=True, slots=True)
class StepFailed(Reason):
    """One of several steps failed; the others are taken without it."""

    what: str
    error: str

    def __str__(self) -> str:
        return f"went on without {self.what}: {self.error}"


@dataclass(frozen=True, slots=True)
class TopicsChanged(Reason):
    """The topics in ZooKeeper differ from those known."""

    new: tuple[str, ...]
    gone: tuple[str, ...]

    def __str__(self) -> str:
        return f"new topics: {_list(self.new)}; topics gone: {_list(self.gone)}"


@dataclass(frozen=True, slots=True)
class PartitionsAdded(Reason):
    """A topic's node lists more partitions than are known."""

    partitions: tuple[TopicPartition, ...]

    def __str__(self) -> str:
        return f"new partitions: {_list(self.partitions)}"


@dataclass(frozen=True, slots=True)
class TopicWritten(Reason):
    """A topic was written to ZooKeeper on request."""

    topic: str
    partitions: int
    replication_factor: int

    def __str__(self) -> str:
        return (
            f"topic {self.topic} written: {self.partitions} partitions, "
            f"replication factor {self.replication_factor}"
        )


@dataclass(frozen=True, slots=True)
class TopicRefused(Reason):
    """A topic was not created."""

    topic: str
    error: ErrorCode
    message: str

    def __str__(self) -> str:
        return f"topic {self.topic} refused with {self.error.name}: {self.message}"


@dataclass(frozen=True, slots=True)
class IsrChanged(Reason):
    """Leaders have changed the ISR of these partitions."""

    partitions: tuple[TopicPartition, ...]

    def __str__(self) -> str:
        return f"ISR changes noted by leaders: {_list(self.partitions)}"


@dataclass(frozen=True, slots=True)
class RequestRefused(Reason):
    """A broker answered a request with an error."""

    broker_id: BrokerId
    api: str
    error: ErrorCode

    def __str__(self) -> str:
        return f"broker {self.broker_id} answered {self.api} with {self.error.name}"


@dataclass(frozen=True, slots=True)
class SentAgain(Reason):
    """Brokers failed at what they were told, for an error that nobody foresaw."""

    brokers: tuple[BrokerId, ...]
    topics: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"telling brokers again what they failed at: {_list(self.brokers)}; topics to delete: "
            f"{_list(self.topics)}"
        )


@dataclass(frozen=True, slots=True)
class TransitionRefused(Reason):
    """A state machine does not know such a move."""

    what: str
    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.what} cannot go from {self.source} to {self.target}"
