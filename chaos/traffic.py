"""The workload of a run of chaos: several topics, several clients of two libraries, readers, and churn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from barnabas.chaos.churn import Churn
from barnabas.chaos.clients import (
    ConfluentProducer,
    ConfluentReader,
    KafkaPythonProducer,
    KafkaPythonReader,
    Producer,
    Reader,
)
from barnabas.chaos.history import History, Joined
from barnabas.chaos.tailer import Tailer
from barnabas.chaos.workload import REPLICATION_FACTOR, SAFE, Workload, promised_ends, read_back
from barnabas.cluster.model.ids import TopicPartition
from barnabas.local.observe import Observer

TOPICS: Mapping[str, tuple[int, Mapping[str, str]]] = {
    "ledger": (6, {**SAFE, "segment.bytes": "32768"}),  # it rolls within half a minute
    "journal": (4, SAFE),
    "packed": (2, {**SAFE, "compression.type": "lz4"}),
    "retried": (2, SAFE),
}
"""Topics that last as long as the run: partitions and settings."""

FLUSHED: Mapping[str, str] = {"flush.messages": "1"}
"""What is acknowledged in topics of these settings survives the loss of power everywhere at once."""

FOR_CONFLUENT_ALONE = frozenset({"packed"})
"""Topics in a codec that kafka-python reads only with another package."""

READ_BACK_TIMEOUT_S = 180.0


@dataclass(frozen=True, slots=True)
class Writer:
    """A producer of the run.

    Attributes:
        name: Its process in the history.
        topic: Where to.
        rate: Records per second.
        producer: Makes its client.
        idempotent: Whether that promises no duplicates.
    """

    name: str
    topic: str
    rate: float
    producer: Callable[[str], Producer]
    idempotent: bool = True


def _confluent(settings: dict[str, str | int | bool]) -> Callable[[str], Producer]:
    return lambda bootstrap: ConfluentProducer(bootstrap, settings)


def _once_more(bootstrap: str) -> Producer:
    """Not idempotent: what is retried may stand twice, but with one request in flight not out of order."""
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
"""300 records per second: an hour of them is a million, which the checker holds in memory."""


class ClientFailed(Exception):
    """A client raised what ended its writing; the message names it and what it raised."""


class Traffic:
    """All clients of a run.

    Args:
        bootstrap: Of a cluster that runs.
        history: Where everything is noted.
        flushed: Whether topics are created with ``FLUSHED`` too.

    Attributes:
        partitions: Those that last as long as the run.
        workloads: The producers to them.
        churn: The topics that come and go.
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
        self._tailers = [
            Tailer(
                reader(bootstrap, of), of, history, process=f"tail-{name}", looks=reader is ConfluentReader
            )
            for name, reader, of in _readers(self.partitions)
        ]

    def start(self) -> None:
        """Begin."""
        for workload in self.workloads:
            workload.start()
        for tailer in self._tailers:
            tailer.start()
        self.churn.start()

    def wait_for_progress(self, timeout_s: float) -> None:
        """Wait until a record sent from now on is acknowledged to each producer on each partition.

        Raises:
            TimeoutError: It took longer; the message names the partitions.
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
        """Have all threads end as soon as they can: the run is broken off and nothing will be judged."""
        self.churn.halt()
        for workload in self.workloads:
            workload.halt()
        for tailer in self._tailers:
            tailer.halt()

    def stop(self) -> list[str]:
        """End all writing, and reading along once it has caught up; read everything back by both libraries.

        Returns:
            What went wrong with a client, a line each.
        """
        problems: list[str] = []
        standing: tuple[TopicPartition, ...] = ()
        with _noting(problems, "churn"):
            standing = self.churn.stop()
        for writer, workload in zip(WRITERS, self.workloads, strict=True):
            with _noting(problems, writer.name):
                workload.stop()
        # Whoever reads along must not stand still for ever after a fault.
        ends = promised_ends(self._history)
        deadline = time.monotonic() + READ_BACK_TIMEOUT_S
        for tailer in self._tailers:
            try:
                tailer.wait_for(ends, max(0.0, deadline - time.monotonic()))
            except TimeoutError as error:
                problems.append(f"a reader stands still: {error}")
            with _noting(problems, "a reader"):
                tailer.stop()
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
    """Each library, what makes its reader, and what it can read."""
    yield "confluent", ConfluentReader, partitions
    others = tuple(tp for tp in partitions if tp.topic not in FOR_CONFLUENT_ALONE)
    yield "kafka-python", KafkaPythonReader, others


@contextmanager
def _noting(problems: list[str], whose: str) -> Iterator[None]:
    """A client may end with whatever its library raises: that is a finding, and the judgement goes on."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  # any exception of a client is a line of the verdict
        problems.append(f"{whose} ended early: {error!r}")
