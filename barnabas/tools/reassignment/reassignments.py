"""The requests of ``kafka-reassign-partitions.sh``: reassignments, and moves between log directories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    AlterReplicaLogDirsRequest,
    DescribeLogDirsRequest,
    ListPartitionReassignmentsRequest,
)

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.tools.clients.admin_client import DEADLINE_MS, SERVER_MS, AdminClient, Answer
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.reassignment.reassignment_files import LogDirTargets, Moves, Replica


class ReassignCommandError(ToolError):
    """An error that the tool prints without ``Error:`` (``TerseReassignmentFailureException``)."""


@dataclass(frozen=True, slots=True)
class Placement:
    """The log directories of a replica.

    Attributes:
        current: The directory of its log, or None if no live directory has it.
        future: The directory to which it moves, or None.
    """

    current: str | None = None
    future: str | None = None


class LogDirClient:
    """A client for the requests about log directories, which go to each broker itself.

    Args:
        admin: A client of the cluster.
    """

    def __init__(self, admin: AdminClient) -> None:
        self._admin = admin

    def placements(self, replicas: Iterable[Replica]) -> dict[Replica, Placement]:
        """Return where each replica lies (DescribeLogDirs).

        Raises:
            AdminError: A broker is not alive, or did not answer.
        """
        found = dict.fromkeys(replicas, Placement())
        for broker in sorted({replica.broker for replica in found}):
            topics: dict[str, list[int]] = {}
            for replica in found:
                if replica.broker == broker:
                    topics.setdefault(replica.topic, []).append(replica.partition)
            answer = self._admin.ask_broker(DescribeLogDirsRequest(topics=list(topics.items())), broker)
            for log_dir in answer.results:
                for topic in log_dir.topics:
                    for each in topic.partitions:
                        replica = Replica(topic.name, each.partition_index, broker)
                        if replica in found:
                            known = found[replica]
                            found[replica] = (
                                Placement(known.current, log_dir.log_dir)
                                if each.is_future_key
                                else Placement(log_dir.log_dir, known.future)
                            )
        return found

    def alter(self, targets: LogDirTargets) -> dict[Replica, ErrorCode]:
        """Begin to move each replica (AlterReplicaLogDirs); return the answer for each.

        Raises:
            AdminError: A broker is not alive, or did not answer.
        """
        results: dict[Replica, ErrorCode] = {}
        for broker in sorted({replica.broker for replica in targets}):
            dirs: dict[str, dict[str, list[int]]] = {}
            for replica, path in targets.items():
                if replica.broker == broker:
                    dirs.setdefault(path, {}).setdefault(replica.topic, []).append(replica.partition)
            request = AlterReplicaLogDirsRequest(
                dirs=[(path, list(topics.items())) for path, topics in dirs.items()]
            )
            for topic in self._admin.ask_broker(request, broker).results:
                for each in topic.partitions:
                    replica = Replica(topic.topic_name, each.partition_index, broker)
                    results[replica] = ErrorCode.from_code(each.error_code)
        return results


class Cluster:
    """A client for the tool's requests.

    Attributes:
        log_dirs: The client for requests about log directories.

    Args:
        admin: A client of the cluster.
    """

    def __init__(self, admin: AdminClient) -> None:
        self._admin = admin
        self.log_dirs = LogDirClient(admin)

    def running(self, deadline_ms: int = DEADLINE_MS) -> dict[TopicPartition, dict[str, list[int]]]:
        """List the running reassignments, with ``replicas``, ``adding_replicas`` and ``removing_replicas``.

        Raises:
            AdminError: No controller answered within ``deadline_ms``.
            ToolError: The controller refused.
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
        """Start or cancel reassignments, and return the controller's error messages by partition."""
        wanted: dict[str, list[tuple[int, list[int] | None]]] = {}
        for tp, replicas in targets.items():
            wanted.setdefault(tp.topic, []).append(
                (tp.partition, None if replicas is None else list(replicas))
            )
        request = AlterPartitionReassignmentsRequest(topics=list(wanted.items()), timeout_ms=SERVER_MS)
        answer = self._admin.ask_controller(request)
        _demand_success(answer)
        failed = {
            TopicPartition(topic.name, one.partition_index): answer.message_of(one)
            for topic in answer.body.responses
            for one in topic.partitions
            if one.error_code != ErrorCode.NONE
        }
        return dict(sorted(failed.items()))

    def racks(self) -> dict[BrokerId, str | None]:
        """Return the rack of every live broker."""
        return {BrokerId(id_): rack for id_, rack in self._admin.racks().items()}

    def replicas(self, topics: Iterable[str]) -> Moves:
        """Return the replicas of all partitions of those ``topics`` that exist."""
        found = self._admin.topics()
        return {
            TopicPartition(name, partition.id): tuple(map(BrokerId, partition.replicas))
            for name in sorted(set(topics) & found.keys())
            for partition in found[name].partitions.values()
        }

    def replicas_of_each(self, topics: Iterable[str]) -> Moves:
        """Return the same as `replicas`, but raise an error for a missing topic."""
        found = self.replicas(topics)
        for topic in topics:
            if all(tp.topic != topic for tp in found):
                raise ToolError(f"Topic {topic} not found.")
        return found


def _demand_success(answer: Answer) -> None:
    if answer.body.error_code != ErrorCode.NONE:
        raise ToolError(answer.message_of(answer.body))
