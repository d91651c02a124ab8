"""The topic ``__consumer_offsets``: which partition a group has, who leads it, and its creation on demand.

Source: ``AutoTopicCreationManager`` and ``KafkaApis.handleFindCoordinatorRequest`` of Kafka 2.8.
"""

from __future__ import annotations

import structlog

from barnabas.broker.core.group.coordinator_partition import OFFSETS_TOPIC, partition_of
from barnabas.broker.core.group.settings import GroupSettings
from barnabas.broker.core.metadata_cache import MetadataCache
from barnabas.cluster.model.commands.command import ControllerPort, Refused
from barnabas.cluster.model.commands.topics import CreateTopics, NewTopic
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.runtime.line_limit import LINES
from barnabas.cluster.runtime.supervisor import Supervisor

_log = structlog.get_logger("kafka.server.AutoTopicCreationManager")

CREATION_TIMEOUT_MS = 30_000
"""The time in milliseconds that the controller may take to create the topic; a later request asks again."""

_SETTLED = frozenset({ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS})


class OffsetsTopic:
    """The topic of all groups, as this broker's metadata shows it.

    Args:
        settings: How the topic is created.
        metadata: The topics and brokers of the controller's last UpdateMetadata.
        controller: The active controller wherever it runs.
        supervisor: Owns the task that creates the topic.
    """

    def __init__(
        self,
        settings: GroupSettings,
        metadata: MetadataCache,
        controller: ControllerPort,
        supervisor: Supervisor,
    ) -> None:
        self._settings = settings
        self._metadata = metadata
        self._controller = controller
        self._supervisor = supervisor
        self._is_being_created = False

    def partition_of(self, group_id: str) -> int:
        """Return the group's partition: of those that exist, else of those that will be created."""
        existing = len(self._metadata.partitions(OFFSETS_TOPIC))
        return partition_of(group_id, existing or self._settings.topic_partitions)

    @property
    def exists(self) -> bool:
        """Return whether the topic is known here."""
        return bool(self._metadata.partitions(OFFSETS_TOPIC))

    def leader(self, partition: int) -> BrokerId | None:
        """Return the leader of a partition; None if it has none."""
        known = self._metadata.partitions(OFFSETS_TOPIC).get(partition)
        if known is None or not known.state.leader_and_isr.has_leader:
            return None
        return known.state.leader_and_isr.leader

    @property
    def creation(self) -> NewTopic:
        """The topic as it is created."""
        return NewTopic(
            OFFSETS_TOPIC,
            self._settings.topic_partitions,
            self._settings.topic_replication_factor,
            {},
            {
                "cleanup.policy": "compact",
                "segment.bytes": str(self._settings.topic_segment_bytes),
                "compression.type": "producer",
            },
        )

    @property
    def lacks_brokers(self) -> bool:
        """Return whether there are fewer live brokers than replicas per partition.

        If so, nothing is created.
        """
        return len(self._metadata.live_brokers) < self._settings.topic_replication_factor

    def create(self) -> None:
        """Begin to create the topic, unless that has begun or too few brokers live."""
        if self._is_being_created or self.exists:
            return
        if self.lacks_brokers:
            if LINES.allow("too few brokers for the offsets topic"):
                factor = self._settings.topic_replication_factor
                _log.error(
                    f"Number of alive brokers '{len(self._metadata.live_brokers)}' does not meet the "
                    f"required replication factor '{factor}' for the offsets topic (configured via "
                    "'offsets.topic.replication.factor'). This error can be ignored if the cluster is "
                    "starting up and not all brokers are up yet."
                )
            return
        self._is_being_created = True
        self._supervisor.spawn("create-offsets-topic", self._create())

    async def _create(self) -> None:
        try:
            answer = await self._controller.submit(CreateTopics((self.creation,)), CREATION_TIMEOUT_MS)
        finally:
            self._is_being_created = False
        result = answer if isinstance(answer, Refused) else answer.topics[0]
        if result.error not in _SETTLED and LINES.allow("the offsets topic is not created"):
            _log.error(f"{OFFSETS_TOPIC} is not created: {result.error.name}: {result.message}")
