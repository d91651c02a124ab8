"""Topics that come and go while faults happen."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import confluent_kafka

from barnabas.chaos.clients import Producer
from barnabas.chaos.history import Deleted, History
from barnabas.chaos.waiting import wait_until
from barnabas.chaos.workload import REPLICATION_FACTOR, SAFE, Workload
from barnabas.cluster.model.ids import TopicPartition
from barnabas.local.observe import Observer

PREFIX = "churn"
PARTITIONS = 2
RATE = 40.0
KEPT = 2
"""How many topics stand before the oldest of them is deleted."""

PROGRESS_S = 20.0
"""How long writes to a new topic may take before it is left as it is: faults happen meanwhile."""

CREATE_TIMEOUT_S = 20.0

PAUSE_S = 1.0
"""After a refusal, which often is that there are fewer brokers than replicas."""


class Churn:
    """Creates a topic, writes a few records to it, deletes an older one, and so on, in a thread.

    Args:
        observer: Creates and deletes; no other thread may use it.
        producer: Makes a client for each topic.
        history: Where writes and deletions are noted.
        configs: The topics' settings.

    Attributes:
        deleted: Topics whose deletion was asked for.
        created: How many were created.
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
        self._stopping = threading.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=PREFIX)
        self._churning: Future[None] = Future()
        self.deleted: set[str] = set()
        self._unsure: list[str] = []
        self.created = 0

    def start(self) -> None:
        """Begin."""
        self._churning = self._thread.submit(self._churn)

    def halt(self) -> None:
        """End after the topic that is being dealt with, without waiting for that."""
        self._stopping.set()

    def stop(self) -> tuple[TopicPartition, ...]:
        """End after the topic that is being dealt with.

        Returns:
            The partitions of the topics that stand, all of them written to.

        Raises:
            Exception: Whatever ended it early.
        """
        self._stopping.set()
        self._thread.shutdown()
        self._churning.result(0)
        for name in self._unsure:
            # Perhaps it was created only after its deletion had been refused, or nobody had heard of that.
            self._delete_for_good(name)
        return tuple(tp for partitions in self._standing for tp in partitions)

    def _delete_for_good(self, name: str) -> None:
        """Until it is taken on, or there is no such topic; one that stays is for the judge to find."""

        def is_gone() -> bool:
            stands = any(tp.topic == name for tp in self._observer.look().partitions)
            return not stands or self._observer.delete_topic(name)

        with contextlib.suppress(confluent_kafka.KafkaException, TimeoutError):
            wait_until(is_gone, f"the deletion of {name}")

    def _churn(self) -> None:
        number = 0
        while not self._stopping.is_set():
            number += 1
            name = f"{PREFIX}-{number}"
            try:
                partitions = self._observer.create_topic(
                    name,
                    partitions=PARTITIONS,
                    replication_factor=REPLICATION_FACTOR,
                    configs=self._configs,
                    timeout_s=CREATE_TIMEOUT_S,
                )
            except (confluent_kafka.KafkaException, TimeoutError):
                # Nobody could create it now, or nobody can say; whether it came to be does not matter.
                self._delete(name)
                self._stopping.wait(PAUSE_S)
                continue
            self.created += 1
            self._write(name, partitions)
            self._standing.append(partitions)
            if len(self._standing) > KEPT:
                self._delete(self._standing.popleft()[0].topic)

    def _write(self, name: str, partitions: tuple[TopicPartition, ...]) -> None:
        workload = Workload(self._producer(), partitions, self._history, process=f"to-{name}", rate=RATE)
        workload.start()
        try:
            workload.wait_for_progress(PROGRESS_S)
        except TimeoutError:
            pass  # a fault is about; what was not acknowledged by the end is of unknown outcome
        finally:
            workload.stop()

    def _delete(self, name: str) -> None:
        self._history.add(Deleted(self._history.now(), name))
        self.deleted.add(name)
        if not self._observer.delete_topic(name):
            self._unsure.append(name)
