"""Topics that are created, deleted, and created again under their names, while faults are injected."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Mapping

import confluent_kafka

from barnabas.cluster.model.ids import TopicPartition
from barnabas.local.observe import Observer
from barnabas.local.waiting import wait_until
from barnabas.workload.client_thread import ClientThread
from barnabas.workload.clients import Producer
from barnabas.workload.history import Created, Deleted, History
from barnabas.workload.workload import REPLICATION_FACTOR, SAFE, Workload

PREFIX = "churn"
PARTITIONS = 2
RATE = 40.0
KEPT = 2
"""The number of topics that exist before the oldest is deleted."""

PROGRESS_S = 20.0
"""The seconds for which writes to a new topic are awaited; faults may delay them, so then it is left."""

CREATE_TIMEOUT_S = 20.0

PAUSE_S = 1.0
"""The pause in seconds after a refusal, which often means that there are fewer brokers than replicas."""


class Churn:
    """A thread that creates topics, writes a few records to each, and deletes the older ones.

    Once a deletion was accepted, the next topic gets the name: what is left of the former one, on a broker
    that was dead meanwhile, must not return with it.

    Args:
        observer: The client that creates and deletes topics; no other thread may use it.
        producer: Creates a client for each topic.
        history: The history to which writes and deletions are appended.
        configs: The topics' settings.

    Attributes:
        deleted: The topics whose deletion was requested, and that were not created again.
        created: The number of topics created.
        created_again: The number of those whose names a deleted topic had.
    """

    def __init__(
        self,
        observer: Observer,
        producer: Callable[[], Producer],
        history: History,
        configs: Mapping[str, str] = SAFE,
    ) -> None:
        self._observer = observer
        self._producer = producer
        self._history = history
        self._configs = dict(configs)
        self._standing: deque[tuple[TopicPartition, ...]] = deque()
        self._thread = ClientThread(PREFIX, self._churn)
        self.deleted: set[str] = set()
        self._unsure: list[str] = []
        self._free: deque[str] = deque()
        self.created = self.created_again = 0

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def halt(self) -> None:
        """Stop after the current topic, without waiting."""
        self._thread.halt()

    def stop(self) -> tuple[TopicPartition, ...]:
        """Stop after the current topic, and wait for the thread.

        Returns:
            The partitions of the topics that still exist, all of which were written to.

        Raises:
            Exception: The exception that ended the thread early.
        """
        self._thread.join()
        self._thread.check()
        for name in self._unsure:
            # The topic may have been created after its deletion was refused, so delete it again.
            self._delete_for_good(name)
        return tuple(tp for partitions in self._standing for tp in partitions)

    def _delete_for_good(self, name: str) -> None:
        """Retry the deletion until it is accepted or the topic is unknown."""

        def is_gone() -> bool:
            stands = any(tp.topic == name for tp in self._observer.look().partitions)
            return not stands or self._observer.delete_topic(name)

        with contextlib.suppress(confluent_kafka.KafkaException, TimeoutError):
            wait_until(is_gone, f"the deletion of {name}")

    def _churn(self) -> None:
        number = 0
        while not self._thread.is_stopping:
            is_again = bool(self._free)
            if not is_again:
                number += 1
                self._free.append(f"{PREFIX}-{number}")
            name = self._free.popleft()
            try:
                partitions = self._observer.create_topic(
                    name,
                    partitions=PARTITIONS,
                    replication_factor=REPLICATION_FACTOR,
                    configs=self._configs,
                    timeout_s=CREATE_TIMEOUT_S,
                )
            except (confluent_kafka.KafkaException, TimeoutError):
                # The creation failed or its outcome is unknown; delete the topic in both cases.
                self._delete(name)
                self._thread.pause(PAUSE_S)
                continue
            self.created += 1
            self.created_again += is_again
            self.deleted.discard(name)
            self._history.add(Created(self._history.now(), name))
            self._write(name, partitions)
            self._standing.append(partitions)
            if len(self._standing) > KEPT:
                oldest = self._standing.popleft()[0].topic
                if self._delete(oldest):
                    self._free.append(oldest)

    def _write(self, name: str, partitions: tuple[TopicPartition, ...]) -> None:
        process = f"to-{name}-{self.created}"
        workload = Workload(self._producer(), partitions, self._history, process=process, rate=RATE)
        workload.start()
        try:
            workload.wait_for_progress(PROGRESS_S)
        except TimeoutError:
            pass  # a fault is active; writes not acknowledged by the end have an unknown outcome
        finally:
            workload.stop()

    def _delete(self, name: str) -> bool:
        """Delete a topic; return whether that was accepted, so that it is not carried out later."""
        self._history.add(Deleted(self._history.now(), name))
        self.deleted.add(name)
        is_accepted = self._observer.delete_topic(name)
        if not is_accepted:
            self._unsure.append(name)
        return is_accepted
