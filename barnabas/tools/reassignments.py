"""What ``kafka-reassign-partitions.sh`` asks of a cluster: what is moved, to begin and to cancel it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kafka.protocol.admin import AlterPartitionReassignmentsRequest, ListPartitionReassignmentsRequest

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.tools.admin_client import DEADLINE_MS, SERVER_MS, AdminClient, Answer
from barnabas.tools.reassignment_files import Moves


class ReassignCommandError(Exception):
    """What the tool reports before it exits with 1."""


class Cluster:
    """What the tool asks of a cluster.

    Args:
        admin: A client of it.
    """

    def __init__(self, admin: AdminClient) -> None:
        self._admin = admin

    def running(self, deadline_ms: int = DEADLINE_MS) -> dict[TopicPartition, dict[str, list[int]]]:
        """The reassignments that run: ``replicas``, ``adding_replicas`` and ``removing_replicas`` of each.

        Raises:
            AdminError: No controller said so within ``deadline_ms``.
            ReassignCommandError: It refused to.
        """
        request = ListPartitionReassignmentsRequest(topics=None, timeout_ms=SERVER_MS)
        answer = self._admin.ask_controller(request, deadline_ms)
        _demand_success(answer)
        found = {
            TopicPartition(topic.name, one.partition_index): {
                "replicas": list(one.replicas),
                "adding_replicas": list(one.adding_replicas),
                "removing_replicas": list(one.removing_replicas),
            }
            for topic in answer.body.topics
            for one in topic.partitions
        }
        return dict(sorted(found.items()))

    def alter(self, targets: Mapping[TopicPartition, Sequence[int] | None]) -> dict[TopicPartition, str]:
        """Begin or cancel; the errors, by partition, in the controller's words."""
        wanted: dict[str, list[tuple[int, list[int] | None]]] = {}
        for tp, replicas in targets.items():
            wanted.setdefault(tp.topic, []).append(
                (tp.partition, None if replicas is None else list(replicas))
            )
        request = AlterPartitionReassignmentsRequest(topics=list(wanted.items()), timeout_ms=SERVER_MS)
        answer = self._admin.ask_controller(request)
        _demand_success(answer)
        failed = {
            TopicPartition(topic.name, one.partition_index): answer.told(one)
            for topic in answer.body.responses
            for one in topic.partitions
            if one.error_code != ErrorCode.NONE
        }
        return dict(sorted(failed.items()))

    def racks(self) -> dict[BrokerId, str | None]:
        """Every live broker with its rack."""
        return {BrokerId(id_): rack for id_, rack in self._admin.racks().items()}

    def replicas(self, topics: Iterable[str]) -> Moves:
        """The replicas of the partitions of those of ``topics`` that there are."""
        found = self._admin.topics()
        return {
            TopicPartition(name, partition.id): tuple(map(BrokerId, partition.replicas))
            for name in sorted(set(topics) & found.keys())
            for partition in found[name].partitions.values()
        }

    def replicas_of_each(self, topics: Iterable[str]) -> Moves:
        """As `replicas`; a topic that is not there is an error."""
        found = self.replicas(topics)
        for topic in topics:
            if all(tp.topic != topic for tp in found):
                raise ReassignCommandError(f"Error: Topic {topic} not found.")
        return found


def _demand_success(answer: Answer) -> None:
    if answer.body.error_code != ErrorCode.NONE:
        raise ReassignCommandError(f"Error: {answer.told(answer.body)}")
