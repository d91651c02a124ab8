"""A small workload: one producer and one reader, whose counts show what a failure costs."""

from __future__ import annotations

import threading
import time
import uuid
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.local.client_login import ClientLogin, librdkafka
from barnabas.page.model import Json

TOPIC = "page-workload"
PARTITIONS = 6
RATE = 100
"""Records a second."""

_REQUEST_TIMEOUT_S = 30.0
_POLL_S = 0.05
_GIVE_UP_MS = 120_000
_LAST_READ_S = 30.0
"""Seconds for which the reader looks for acknowledged records after the producer has ended."""


@dataclass(slots=True)
class Counts:
    """The counts of records so far.

    Attributes:
        sent: Handed to the producer.
        acknowledged: Confirmed by all in-sync replicas (``acks=all``).
        failed: Given up by the producer after two minutes.
        read: Read back, each counted once.
        stall_ms: The longest time without an acknowledgement since the workload was last started.
        waiting_ms: The time since the last acknowledgement.
    """

    sent: int = 0
    acknowledged: int = 0
    failed: int = 0
    read: int = 0
    stall_ms: int = 0
    waiting_ms: int = 0


class Workload:
    """A producer and a reader on threads of their own.

    Args:
        bootstrap: ``bootstrap.servers``.
        login: The login at the brokers; None if they want none.
    """

    def __init__(self, bootstrap: str, login: ClientLogin | None = None) -> None:
        self._settings: dict[str, str | int | float | bool] = {
            "bootstrap.servers": bootstrap,
            "log_level": 0,
            **librdkafka(login),
        }
        self._counts = Counts()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._run_id = uuid.uuid4().hex[:8]
        self._seen: set[int] = set()
        self._acknowledged_at = time.monotonic()
        self._error = ""

    @property
    def is_running(self) -> bool:
        """Return whether the producer or the reader runs."""
        return any(thread.is_alive() for thread in self._threads)

    def start(self) -> None:
        """Start writing and reading, unless it does."""
        if self.is_running:
            return
        self._stopping = threading.Event()
        self._error = ""
        self._counts.stall_ms = self._counts.waiting_ms = 0
        self._acknowledged_at = time.monotonic()
        self._threads = [
            threading.Thread(target=self._run, args=(target,), name=f"page-{name}", daemon=True)
            for name, target in (("producer", self._produce), ("reader", self._read))
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop writing; records that were sent are still awaited, on their own thread."""
        self._stopping.set()

    def json(self) -> Json:
        """Return the counts as the page gets them."""
        counts = self._counts
        if self.is_running and counts.sent > counts.acknowledged + counts.failed:
            counts.waiting_ms = int((time.monotonic() - self._acknowledged_at) * 1000)
            counts.stall_ms = max(counts.stall_ms, counts.waiting_ms)
        else:
            counts.waiting_ms = 0
        return {
            "running": self.is_running, "topic": TOPIC, "sent": counts.sent,
            "acknowledged": counts.acknowledged, "failed": counts.failed,
            "read": counts.read, "stall_ms": counts.stall_ms,
            "waiting_ms": counts.waiting_ms, "error": self._error,
        }  # fmt: skip

    def _run(self, target: object) -> None:
        try:
            assert callable(target)
            target()
        except KafkaException as error:
            self._error = str(error.args[0])
            self._stopping.set()

    def _produce(self) -> None:
        self._create_topic()
        producer = Producer(
            {
                **self._settings,
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": _GIVE_UP_MS,
            }
        )
        number = self._counts.sent
        due = time.monotonic()
        while not self._stopping.is_set():
            key = f"{self._run_id}-{number}"
            try:
                producer.produce(TOPIC, key=key, value=key, on_delivery=self._delivered)
            except BufferError:
                producer.poll(_POLL_S)
                continue
            number += 1
            self._counts.sent = number
            due = max(due + 1 / RATE, time.monotonic() - 1)
            producer.poll(max(0.0, due - time.monotonic()))
        producer.flush(_GIVE_UP_MS / 1000)

    def _delivered(self, error: object, _record: object) -> None:
        now = time.monotonic()
        counts = self._counts
        if error is not None:
            counts.failed += 1
            return
        counts.acknowledged += 1
        counts.stall_ms = max(counts.stall_ms, int((now - self._acknowledged_at) * 1000))
        self._acknowledged_at = now

    def _read(self) -> None:
        consumer = Consumer(
            {
                **self._settings,
                "group.id": "page-workload",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
            }
        )
        self._create_topic()
        consumer.assign([TopicPartition(TOPIC, number, 0) for number in range(PARTITIONS)])
        give_up_at = None
        try:
            while not self._is_read():
                if give_up_at is None and not self._threads[0].is_alive():
                    give_up_at = time.monotonic() + _LAST_READ_S
                if give_up_at is not None and time.monotonic() > give_up_at:
                    return
                record = consumer.poll(_POLL_S)
                if record is not None and record.error() is None:
                    self._count(record.key())
        finally:
            consumer.close()

    def _count(self, key: str | bytes | None) -> None:
        """Count a record once, if it is of this workload: the topic may hold those of earlier ones."""
        text = key.decode(errors="replace") if isinstance(key, bytes) else key or ""
        run_id, _, number = text.partition("-")
        if run_id == self._run_id and number.isdecimal():
            self._seen.add(int(number))
            self._counts.read = len(self._seen)

    def _is_read(self) -> bool:
        """Return whether the producer has ended and all that was acknowledged is read."""
        return not self._threads[0].is_alive() and self._counts.read >= self._counts.acknowledged

    def _create_topic(self) -> None:
        admin = AdminClient(self._settings)
        created = admin.create_topics(
            [NewTopic(TOPIC, num_partitions=PARTITIONS)], request_timeout=_REQUEST_TIMEOUT_S
        )
        try:
            created[TOPIC].result(_REQUEST_TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].name() != "TOPIC_ALREADY_EXISTS":
                raise
