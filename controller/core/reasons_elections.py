"""Why the controller elects leaders that nobody has lost: one class for each thing to say."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.controller.core.reasons import Reason


def _list(tps: tuple[TopicPartition, ...]) -> str:
    return ", ".join(map(str, tps)) or "none"


@dataclass(frozen=True, slots=True)
class ReplicaElectionStarted(Reason):
    """Leaders are elected by type and trigger, in the words that Kafka prints."""

    election_type: str
    trigger: str
    partitions: tuple[TopicPartition, ...]

    def __str__(self) -> str:
        return (
            f"leader election ({self.election_type}) triggered by {self.trigger} for partitions "
            f"{_list(self.partitions)}"
        )


@dataclass(frozen=True, slots=True)
class ReplicaElectionSkipped(Reason):
    """An election was asked for partitions that cannot have one."""

    partitions: tuple[TopicPartition, ...]
    because: str

    def __str__(self) -> str:
        return f"no leader election for partitions {_list(self.partitions)}, because {self.because}"


@dataclass(frozen=True, slots=True)
class PreferredElectionEnded(Reason):
    """What preferred elections that nobody waits for have come to."""

    completed: tuple[TopicPartition, ...]
    failed: tuple[TopicPartition, ...]

    def __str__(self) -> str:
        return (
            f"preferred replicas lead partitions {_list(self.completed)}; "
            f"they could not be elected for partitions {_list(self.failed)}"
        )


@dataclass(frozen=True, slots=True)
class LeaderImbalance(Reason):
    """Too many partitions that a broker should lead are led by others."""

    broker_id: BrokerId
    imbalanced: int
    preferred: int
    percentage: int

    def __str__(self) -> str:
        return (
            f"others lead {self.imbalanced} of the {self.preferred} partitions that broker {self.broker_id} "
            f"should lead, more than {self.percentage} %"
        )


@dataclass(frozen=True, slots=True)
class UncleanElectionEnabled(Reason):
    """From now on leaders from outside the ISR are allowed, by all topics or by one."""

    topic: str

    def __str__(self) -> str:
        return f"unclean leader election is enabled now for {self.topic or 'all topics'}"
