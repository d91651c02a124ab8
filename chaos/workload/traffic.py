"""The traffic of a chaos run: several topics, producers and readers of two libraries, and churn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from barnabas.chaos.workload.churn import Churn
from barnabas.chaos.workload.group_members import GroupMember, fetch_commits
from barnabas.chaos.workload.tailer import Tailer
from barnabas.cluster.model.ids import TopicPartition
from barnabas.local.observe import Observer
from barnabas.workload.clients import (
    ConfluentProducer,
    ConfluentReader,
    KafkaPythonProducer,
    KafkaPythonReader,
    Producer,
    Reader,
)
from barnabas.workload.history import History, Joined
from barnabas.workload.workload import REPLICATION_FACTOR, SAFE, Workload, promised_ends, read_back

TOPICS: Mapping[str, tuple[int, Mapping[str, str]]] = {
    "ledger": (6, {**SAFE, "segment.bytes": "32768"}),  # segments roll within half a minute
    "journal": (4, SAFE),
    "packed": (2, {**SAFE, "compression.type": "lz4"}),
    "retried": (2, SAFE),
}
"""The topics that exist during the whole run, with their partitions and settings."""

FLUSHED: Mapping[str, str] = {"flush.messages": "1"}
"""Settings with which acknowledged records survive a power cut of all brokers at once."""

FOR_CONFLUENT_ALONE = frozenset({"packed"})
"""Topics with a codec that kafka-python cannot read without another package."""

READ_BACK_TIMEOUT_S = 180.0

MEMBERS = 2
"""The members of the consumer group, which reads all of these topics."""


@dataclass(frozen=True, slots=True)
class Writer:
    """A producer of a run.

    Attributes:
        name: The producer's process in the history.
        topic: The topic.
        rate: Records per second.
        producer: Creates the client.
        idempotent: Whether the client is idempotent, so that duplicates are forbidden.
    """

    name: str
    topic: str
    rate: float
    producer: Callable[[str], Producer]
    idempotent: bool = True


def _confluent(settings: dict[str, str | int | bool]) -> Callable[[str], Producer]:
    return lambda bootstrap: ConfluentProducer(bootstrap, settings)


def _once_more(bootstrap: str) -> Producer:
    """Create a producer that is not idempotent, with one request in flight to keep the order."""
    return KafkaPythonProducer(
        bootstrap, {"enable_idempotence": False, "max_in_flight_requests_per_connection": 1}
    )


WRITERS: tuple[Writer, ...] = (
    Writer("confluent-1", "ledger", 120.0, ConfluentProducer),
    Writer("confluent-2", "journal", 40.0, _confluent({"compression.type": "gzip"})),
    Writer("kafka-python-1", "journal", 60.0, KafkaPythonProducer),
    Writer("confluent-3", "packed", 40.0, _confluent({"compression.type": "zstd"})),
    Writer("kafka-python-2", "retried", 40.0, _once_more, idempotent=False),
)
"""The producers.

They send 300 records per second, a million in an hour, which the checker holds in memory.
"""


class ClientFailed(Exception):
    """An error of a client that ended its writing; the message names the client and its exception."""


class Traffic:
    """All clients of a run.

    Args:
        bootstrap: ``bootstrap.servers`` of a running cluster.
        history: The history to which every op is appended.
        flushed: Whether topics also get the settings ``FLUSHED``.

    Attributes:
        partitions: The partitions that exist during the whole run.
        workloads: The producers that write to them.
        churn: The topics that are created and deleted.
    """

    def __init__(self, bootstrap: str, history: History, *, flushed: bool = False) -> None:
        self._bootstrap = bootstrap
        self._history = history
        observer = Observer(bootstrap)
        also = FLUSHED if flushed else {}
        by_topic = {
            topic: observer.create_topic(
                topic,
                partitions=count,
                replication_factor=REPLICATION_FACTOR,
                configs={**settings, **also},
                timeout_s=60.0,
            )
            for topic, (count, settings) in TOPICS.items()
        }
        self.partitions = tuple(tp for partitions in by_topic.values() for tp in partitions)
        for writer in WRITERS:
            history.add(Joined(history.now(), writer.name, writer.idempotent))
        self.workloads = [
            Workload(
                writer.producer(bootstrap),
                by_topic[writer.topic],
                history,
                process=writer.name,
                rate=writer.rate,
            )
            for writer in WRITERS
        ]
        self.churn = Churn(
            Observer(bootstrap), lambda: ConfluentProducer(bootstrap), history, {**SAFE, **also}
        )
        # A power cut of all brokers would lose commits: the topic of the groups is not synced.
        self._members = [
            GroupMember(bootstrap, tuple(TOPICS), history, f"member-{number}")
            for number in range(0 if flushed else MEMBERS)
        ]
        self._tailers = [
            Tailer(
                reader(bootstrap, of), of, history, process=f"tail-{name}", looks=reader is ConfluentReader
            )
            for name, reader, of in _readers(self.partitions)
        ]

    def start(self) -> None:
        """Start all clients."""
        for workload in self.workloads:
            workload.start()
        for tailer in self._tailers:
            tailer.start()
        for member in self._members:
            member.start()
        self.churn.start()

    def wait_for_progress(self, timeout_s: float) -> None:
        """Wait until each producer has an acknowledgement, on each partition, of a record sent from now on.

        Raises:
            TimeoutError: The time is over; the message names the partitions.
            ClientFailed: A client ended early.
        """
        deadline = time.monotonic() + timeout_s
        for writer, workload in zip(WRITERS, self.workloads, strict=True):
            try:
                workload.wait_for_progress(max(0.0, deadline - time.monotonic()))
            except TimeoutError as error:
                raise TimeoutError(f"{writer.name}: {error}") from error
            except Exception as error:
                raise ClientFailed(f"{writer.name} ended early: {error!r}") from error

    def halt(self) -> None:
        """Tell all threads to end as soon as they can, because the run was interrupted and is not judged."""
        self.churn.halt()
        for workload in self.workloads:
            workload.halt()
        for tailer in self._tailers:
            tailer.halt()
        for member in self._members:
            member.halt()

    def stop(self) -> list[str]:
        """Stop the producers, then the readers once they caught up, and read everything back.

        Returns:
            A line for each client that failed.
        """
        problems: list[str] = []
        standing: tuple[TopicPartition, ...] = ()
        with _noting(problems, "churn"):
            standing = self.churn.stop()
        for writer, workload in zip(WRITERS, self.workloads, strict=True):
            with _noting(problems, writer.name):
                workload.stop()
        # A reader that stays behind after a fault is a problem.
        ends = promised_ends(self._history)
        deadline = time.monotonic() + READ_BACK_TIMEOUT_S
        for tailer in self._tailers:
            try:
                tailer.wait_for(ends, max(0.0, deadline - time.monotonic()))
            except TimeoutError as error:
                problems.append(f"a reader stays behind: {error}")
            with _noting(problems, "a reader"):
                tailer.stop()
        for member in self._members:
            with _noting(problems, "a member of the group"):
                member.stop()
        if self._members:
            with _noting(problems, "fetching the commits"):
                fetch_commits(self._bootstrap, self.partitions, self._history, READ_BACK_TIMEOUT_S)
        for name, reader, partitions in _readers((*self.partitions, *standing)):
            with _noting(problems, f"{name}'s reading back"):
                read_back(
                    reader(self._bootstrap, partitions),
                    partitions,
                    self._history,
                    process=f"back-{name}",
                    timeout_s=READ_BACK_TIMEOUT_S,
                )
        return problems


_Partitions = tuple[TopicPartition, ...]


def _readers(
    partitions: _Partitions,
) -> Iterator[tuple[str, Callable[[str, _Partitions], Reader], _Partitions]]:
    """List each library with the constructor of its reader and the partitions that it can read."""
    yield "confluent", ConfluentReader, partitions
    others = tuple(tp for tp in partitions if tp.topic not in FOR_CONFLUENT_ALONE)
    yield "kafka-python", KafkaPythonReader, others


@contextmanager
def _noting(problems: list[str], whose: str) -> Iterator[None]:
    """Turn any exception of a client into a problem, so that the check continues."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  # any exception of a client is a line of the verdict
        problems.append(f"{whose} ended early: {error!r}")
