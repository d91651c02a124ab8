"""Why topics are extended, deleted, or not deleted yet."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from barnabas.controller.core.reasons import Reason


def _list(values: Collection[object]) -> str:
    return ", ".join(str(value) for value in values)


@dataclass(frozen=True, slots=True)
class DeletionQueued(Reason):
    """Topics were found marked in ``/admin/delete_topics``."""

    topics: tuple[str, ...]

    def __str__(self) -> str:
        return f"topics to be deleted: {_list(self.topics)}"


@dataclass(frozen=True, slots=True)
class DeletionMarksRemoved(Reason):
    """Marks that lead to nothing."""

    topics: tuple[str, ...]
    because: str

    def __str__(self) -> str:
        return f"not to be deleted, because {self.because}: {_list(self.topics)}"


@dataclass(frozen=True, slots=True)
class DeletionHalted(Reason):
    """Topics whose deletion waits for something to happen."""

    topics: tuple[str, ...]
    because: str

    def __str__(self) -> str:
        return f"deletion halted, because of {self.because}: {_list(self.topics)}"


@dataclass(frozen=True, slots=True)
class DeletionStarted(Reason):
    """The brokers are told to delete these topics."""

    topics: tuple[str, ...]

    def __str__(self) -> str:
        return f"deletion (re)started: {_list(self.topics)}"


@dataclass(frozen=True, slots=True)
class DeletionRetried(Reason):
    """Replicas that could not be deleted are to be tried again."""

    replicas: tuple[object, ...]

    def __str__(self) -> str:
        return f"deletion to be tried again of the replicas {_list(self.replicas)}"


@dataclass(frozen=True, slots=True)
class TopicDeleted(Reason):
    """Every replica of a topic is gone, and so is the topic."""

    topic: str

    def __str__(self) -> str:
        return f"topic {self.topic} is deleted"


@dataclass(frozen=True, slots=True)
class TopicNamesIllegal(Reason):
    """Nodes stand under ``/brokers/topics`` that are no topics."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"left out of the topics, because no topic may have these names: {_list(self.names)}"


@dataclass(frozen=True, slots=True)
class PartitionsWritten(Reason):
    """A topic was given more partitions on request."""

    topic: str
    partitions: int

    def __str__(self) -> str:
        return f"topic {self.topic} written: {self.partitions} partitions from now on"


@dataclass(frozen=True, slots=True)
class PartitionsRefused(Reason):
    """Partitions were added to a topic that is being deleted; its node is written as it was."""

    topic: str
    partitions: tuple[int, ...]

    def __str__(self) -> str:
        return f"topic {self.topic} is being deleted and gets no partitions: {_list(self.partitions)}"
