"""Topics and partitions that are created or deleted in ZooKeeper (Kafka: ``processTopicChange``).

A topic is created by writing its node, by a CreateTopics request, a tool or a person. Source:
docs/kafka/controller.md, Events (``TopicChange``, ``PartitionModifications``) and docs/kafka/topics.md,
Creation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from barnabas.cluster.model import topic_names
from barnabas.cluster.model.ids import TopicPartition
from barnabas.controller.core.context.controller_context import ControllerContext
from barnabas.controller.core.context.machines import PartitionMachineState, ReplicaMachineState
from barnabas.controller.core.partitions.elections import OfflineElection
from barnabas.controller.core.partitions.partition_state_machine import change_partitions
from barnabas.controller.core.protocol.effects import Decision, LogInfo, ask, listed
from barnabas.controller.core.replicas.replica_state_machine import change_replicas
from barnabas.controller.core.topics import topic_deletion
from barnabas.controller.core.topics.effects import NO_TOPIC, ReadAssignments, ReadTopics, WriteAssignment
from barnabas.controller.core.topics.requested_reassignments import withdraw_topics


def process_topic_change(context: ControllerContext) -> Decision[None]:
    """Read the list of topics: create the new ones, and forget those that are gone."""
    topics = yield from ask(ReadTopics())
    new = yield from leave_out_illegal(topics - context.assignments.keys())
    gone = tuple(sorted((context.assignments.keys() | context.topics_to_delete) - topics))
    if not new and not gone:
        return
    yield LogInfo(f"new topics: {listed(new)}; topics gone: {listed(gone)}")
    queued = context.topics_to_delete.intersection(gone)
    moved = [topic for topic in gone if context.is_being_reassigned(topic)]
    for topic in gone:
        context.forget_topic(topic)
    yield from _add_partitions(context, new)
    # A leftover mark would delete a later topic of the same name.
    yield from topic_deletion.remove_marks(context, queued, "there is no such topic any more")
    yield from withdraw_topics(context, moved)


def leave_out_illegal(topics: Collection[str]) -> Decision[tuple[str, ...]]:
    """Return those of ``topics`` whose names are allowed, sorted.

    A person may write any name into ZooKeeper. A broker could create no directory of an illegal name, and
    would take its log directory for failed.
    """
    illegal = tuple(sorted(topic for topic in topics if topic_names.fault(topic) is not None))
    if illegal:
        yield LogInfo(f"left out of the topics, because no topic may have these names: {listed(illegal)}")
    return tuple(sorted(set(topics).difference(illegal)))


def process_partition_modifications(context: ControllerContext, topic: str) -> Decision[None]:
    """Read a topic's node, and create the partitions that the controller does not know.

    A topic that is being deleted gets no new partitions: they are removed from its node.
    """
    if context.is_being_deleted(topic):
        yield from _restore(context, topic)
    else:
        yield from _add_partitions(context, (topic,))


def _restore(context: ControllerContext, topic: str) -> Decision[None]:
    known = context.assignments.get(topic, {})
    written = (yield from ask(ReadAssignments((topic,)))).get(topic, NO_TOPIC).partitions
    added = tuple(sorted(written.keys() - known.keys()))
    if not added:
        return
    yield LogInfo(f"topic {topic} is being deleted and gets no partitions: {listed(added)}")
    kept = {number: known[number] for number in sorted(written) if number in known}
    # If the node was written again meanwhile, its watch fires and this is repeated.
    yield from ask(WriteAssignment(topic, written, kept, context.fence))


def _add_partitions(context: ControllerContext, topics: tuple[str, ...]) -> Decision[None]:
    if not topics:
        return
    assignments = yield from ask(ReadAssignments(topics))
    added: list[TopicPartition] = []
    for topic in topics:
        known, read = context.assignments.get(topic, {}), assignments.get(topic, NO_TOPIC)
        context.identify(topic, read.identity)
        for number, assignment in sorted(read.partitions.items()):
            if number not in known:
                added.append(TopicPartition(topic, number))
                context.assign(added[-1], assignment)
    if added:
        yield LogInfo(f"new partitions: {listed(added)}")
        yield from _on_new_partition_creation(context, added)


def _on_new_partition_creation(context: ControllerContext, tps: Iterable[TopicPartition]) -> Decision[None]:
    """Take new partitions and their replicas online (Kafka: ``onNewPartitionCreation``)."""
    tps = tuple(tps)
    yield from change_partitions(context, tps, PartitionMachineState.NEW)
    yield from change_replicas(context, context.replicas(tps), ReplicaMachineState.NEW)
    yield from change_partitions(context, tps, PartitionMachineState.ONLINE, OfflineElection())
    yield from change_replicas(context, context.replicas(tps), ReplicaMachineState.ONLINE)
