"""What an ordinary client can see of a cluster: brokers, controller, leaders and in-sync replicas.

No back door: everything but the controller epoch comes from a Metadata request; the epoch, which Kafka's
protocol does not tell to clients, from the brokers' state-change logs.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import confluent_kafka
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from barnabas.cluster.model.ids import BrokerId, TopicPartition

_CONTROLLER_LINE = re.compile(rb"\[Controller id=\d+ epoch=(\d+)\]")

_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class PartitionView:
    """One partition as a broker's metadata cache has it.

    Attributes:
        leader: None where it has none.
        isr: Its in-sync replicas.
        replicas: All of them, preferred leader first.
    """

    leader: BrokerId | None
    isr: tuple[BrokerId, ...]
    replicas: tuple[BrokerId, ...]

    @property
    def is_whole(self) -> bool:
        """Whether it has a leader and all its replicas are in sync."""
        return self.leader is not None and set(self.isr) == set(self.replicas)


@dataclass(frozen=True, slots=True)
class ClusterView:
    """A cluster as one broker saw it when it was asked.

    Attributes:
        brokers: The live ones: id to ``host:port``.
        controller: None while there is none.
        partitions: Those of all topics, or of the topic asked for.
    """

    brokers: Mapping[BrokerId, str] = field(default_factory=dict)
    controller: BrokerId | None = None
    partitions: Mapping[TopicPartition, PartitionView] = field(default_factory=dict)

    @property
    def whole(self) -> int:
        """How many partitions have a leader and all their replicas in sync."""
        return sum(partition.is_whole for partition in self.partitions.values())

    def led_by(self, broker: BrokerId) -> int:
        """How many partitions the broker leads."""
        return sum(partition.leader == broker for partition in self.partitions.values())

    def leader_of_most(self) -> BrokerId:
        """The broker that leads most partitions; of several the lowest id.

        Raises:
            LookupError: No partition has a leader.
        """
        led = Counter(p.leader for p in self.partitions.values() if p.leader is not None)
        if not led:
            raise LookupError(f"none of {len(self.partitions)} partitions has a leader")
        return min(led, key=lambda broker: (-led[broker], broker))


class Observer:
    """Asks a cluster for its metadata through confluent-kafka.

    Args:
        bootstrap: ``host:port,…``; any live one of them is enough.
    """

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._admin = self._client()

    def _client(self) -> AdminClient:
        return AdminClient(
            {"bootstrap.servers": self._bootstrap, "reconnect.backoff.max.ms": 500, "log_level": 2}
        )

    def look(self, topic: str | None = None, timeout_s: float = 5.0) -> ClusterView:
        """The cluster now, with the partitions of ``topic`` or of all topics.

        Raises:
            confluent_kafka.KafkaException: No broker answered in time; the next look may ask another.
        """
        try:
            seen = self._admin.list_topics(topic=topic, timeout=timeout_s)
        except confluent_kafka.KafkaException:
            # The only one it is connected to may be paused: its connection stands, and no other is opened.
            self._admin = self._client()
            raise
        return ClusterView(
            brokers={BrokerId(b.id): f"{b.host}:{b.port}" for b in seen.brokers.values()},
            controller=BrokerId(seen.controller_id) if seen.controller_id >= 0 else None,
            partitions={
                TopicPartition(name, p.id): PartitionView(
                    leader=BrokerId(p.leader) if p.leader >= 0 else None,
                    isr=tuple(map(BrokerId, p.isrs)),
                    replicas=tuple(map(BrokerId, p.replicas)),
                )
                for name, metadata in sorted(seen.topics.items())
                for _, p in sorted(metadata.partitions.items())
            },
        )

    def create_topic(
        self,
        name: str,
        *,
        partitions: int,
        replication_factor: int = 3,
        configs: dict[str, str] | None = None,
        timeout_s: float = 20.0,
    ) -> tuple[TopicPartition, ...]:
        """Create a topic and wait until each partition has a leader and all its replicas in sync.

        Returns:
            Its partitions.

        Raises:
            confluent_kafka.KafkaException: The cluster refused.
            TimeoutError: It was refused by nobody, but is not whole yet.
        """
        topic = NewTopic(
            name, num_partitions=partitions, replication_factor=replication_factor, config=configs or {}
        )
        self._wait_for_a_controller(timeout_s)
        self._admin.create_topics([topic], request_timeout=timeout_s)[name].result(timeout_s)
        self.wait_until_in_sync(name, partitions=partitions, timeout_s=timeout_s)
        return tuple(TopicPartition(name, number) for number in range(partitions))

    def _wait_for_a_controller(self, timeout_s: float) -> None:
        """librdkafka, told once that there is no controller, waits minutes before it asks for it again."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            with contextlib.suppress(confluent_kafka.KafkaException):
                if self.look().controller is not None:
                    return
            time.sleep(_POLL_S)
        raise TimeoutError(f"no broker knew of a controller within {timeout_s:g} s")

    def delete_topic(self, name: str, timeout_s: float = 20.0) -> bool:
        """Ask for a topic's deletion, which goes on after the answer.

        Returns:
            Whether the cluster took it on; False where it refused (there may be no such topic), or nobody
            can say.
        """
        try:
            self._admin.delete_topics([name], request_timeout=timeout_s)[name].result(timeout_s)
        except (confluent_kafka.KafkaException, TimeoutError):
            with contextlib.suppress(confluent_kafka.KafkaException):
                # Else the client asks the former controller, who refuses, until its metadata are minutes old.
                self._admin.list_topics(timeout=timeout_s)
            return False
        return True

    def wait_until_in_sync(self, topic: str, *, partitions: int, timeout_s: float) -> ClusterView:
        """Wait until every partition of ``topic`` has a leader and all its replicas are in sync.

        Raises:
            TimeoutError: They were not in time; the message names those that are missing.
        """
        deadline = time.monotonic() + timeout_s
        view = ClusterView()
        while time.monotonic() < deadline:
            try:
                view = self.look(topic)
            except confluent_kafka.KafkaException:
                continue  # nobody answered within its own timeout: ask again until the deadline
            if view.whole == partitions:
                return view
            time.sleep(_POLL_S)
        raise TimeoutError(
            f"topic {topic}: {partitions} partitions expected with a leader and a full ISR within "
            f"{timeout_s:g} s, found {dict(view.partitions)}"
        )


class ControllerEpochs:
    """The highest controller epoch that state-change logs speak of, reading on from where it stopped.

    Args:
        logs: The ``state-change.log`` of each broker; they may not exist yet.
    """

    def __init__(self, logs: Iterable[Path]) -> None:
        self._positions = dict.fromkeys(logs, 0)
        self._highest = 0

    def highest(self) -> int:
        """The epoch, 0 where no controller has written yet."""
        for path, position in self._positions.items():
            if not path.exists():
                continue
            with path.open("rb") as file:
                file.seek(position)
                text = file.read()
            whole = text.rfind(b"\n") + 1  # the last line may still be being written
            self._positions[path] = position + whole
            epochs = map(int, _CONTROLLER_LINE.findall(text[:whole]))
            self._highest = max(self._highest, *epochs, 0)
        return self._highest
