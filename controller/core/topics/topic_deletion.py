"""Kafka's ``TopicDeletionManager``: which topics are deleted now, which wait, and how replicas go.

A topic marked in ``/admin/delete_topics`` is queued until every replica is deleted. A replica that cannot be
deleted now makes the whole topic ineligible; the return of a broker or the end of a reassignment makes it
eligible again. Source: docs/kafka/topics.md, Deletion (``onTopicDeletion``, ``onPartitionDeletion``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.controller.core.batches.request_batch import update_metadata
from barnabas.controller.core.context.controller_context import ControllerContext, PartitionReplica
from barnabas.controller.core.context.machines import PartitionMachineState, ReplicaMachineState
from barnabas.controller.core.partitions.partition_state_machine import change_partitions
from barnabas.controller.core.protocol.attempts import attempt
from barnabas.controller.core.protocol.effects import Decision, LogInfo, ask, listed
from barnabas.controller.core.replicas.replica_state_machine import change_replicas
from barnabas.controller.core.topics.effects import (
    DeleteTopic,
    ReadTopicDeletions,
    ReadTopics,
    RemoveTopicDeletions,
)
from barnabas.controller.core.topics.requested_reassignments import withdraw_topics

_STARTED, _SUCCESSFUL = ReplicaMachineState.DELETION_STARTED, ReplicaMachineState.DELETION_SUCCESSFUL
_INELIGIBLE, _OFFLINE = ReplicaMachineState.DELETION_INELIGIBLE, ReplicaMachineState.OFFLINE

REASSIGNMENT = "a reassignment in progress"
OFFLINE_REPLICAS = "offline replicas"
FAILED_REPLICAS = "replicas whose deletion failed"


def take_marks(context: ControllerContext) -> Decision[None]:
    """Read the marks: queue the topics that are there, and take the marks of others away."""
    marked = yield from ask(ReadTopicDeletions())
    unknown = marked - context.assignments.keys()
    # A topic that was never created here, its node is empty or spoiled, can still be deleted.
    missing = unknown - (yield from ask(ReadTopics())) if unknown else unknown
    marked -= missing
    yield from _queue(context, marked)
    yield from halt(context, filter(context.is_being_reassigned, marked), REASSIGNMENT)
    yield from resume_all(context)
    # Last: whatever stands in the way of a mark that leads to nothing, no topic waits for it.
    yield from remove_marks(context, missing, "there is no such topic")


def take_marks_over(context: ControllerContext) -> Decision[None]:
    """Read the marks that a former controller left; `resume_all` begins with them once all is up."""
    marked = yield from ask(ReadTopicDeletions())
    yield from _queue(context, marked)
    yield from halt(context, filter(context.is_being_reassigned, marked), REASSIGNMENT)
    offline = {
        tp.topic
        for tp, replica in context.replicas(_partitions(context, marked))
        if not context.is_online(replica, tp)
    }
    yield from halt(context, offline, OFFLINE_REPLICAS)


def halt(context: ControllerContext, topics: Iterable[str], because: str) -> Decision[None]:
    """Hold those of ``topics`` that are queued ineligible, until `resume` names them.

    Args:
        context: What is known.
        topics: Topics, queued or not.
        because: Ends the sentence "halted, because of ...".
    """
    halted = tuple(sorted(context.topics_to_delete.intersection(topics)))
    if halted:
        context.topics_ineligible_for_deletion.update(halted)
        yield LogInfo(f"deletion halted, because of {because}: {listed(halted)}")


def resume(context: ControllerContext, topics: Iterable[str]) -> Decision[None]:
    """Take the deletion of those of ``topics`` up again that are queued: what held them is over."""
    queued = context.topics_to_delete.intersection(topics)
    if queued:
        context.topics_ineligible_for_deletion -= queued
        yield from resume_all(context)


def resume_all(context: ControllerContext) -> Decision[None]:
    """Do for every queued topic what can be done now.

    A topic whose replicas are all deleted is gone. One that waits for no broker's answer has its failed
    replicas readied for another try and, unless it is held, is begun with (again).
    """
    failed: list[PartitionReplica] = []
    eligible: list[str] = []
    for topic in sorted(context.topics_to_delete):
        replicas = context.replicas(_partitions(context, (topic,)))
        states = {context.replica_states.get(one) for one in replicas}
        if states <= {_SUCCESSFUL}:
            # What keeps the nodes of one topic, and it is tried again with the next, keeps no other.
            yield from attempt(f"the end of topic {topic}", _complete(context, topic))
        elif _STARTED not in states:
            failed += [one for one in replicas if context.replica_states.get(one) is _INELIGIBLE]
            if topic not in context.topics_ineligible_for_deletion:
                eligible.append(topic)
    if failed:
        yield LogInfo(f"deletion to be tried again of the replicas {listed(failed)}")
        yield from change_replicas(context, failed, _OFFLINE)
    if eligible:
        yield from _start(context, eligible)


def fail_replicas(context: ControllerContext, replicas: Iterable[PartitionReplica]) -> Decision[None]:
    """Note that those of ``replicas`` whose topics are queued cannot be deleted now."""
    failed = [one for one in replicas if context.is_being_deleted(one.partition.topic)]
    if failed:
        yield from change_replicas(context, failed, _INELIGIBLE)
        yield from halt(context, {one.partition.topic for one in failed}, FAILED_REPLICAS)
        yield from resume_all(context)


def process_deletions(
    context: ControllerContext, broker: BrokerId, errors: Mapping[TopicPartition, ErrorCode]
) -> Decision[None]:
    """Note which replicas ``broker`` has deleted, and which it could not."""
    answered = {
        PartitionReplica(tp, broker): error
        for tp, error in errors.items()
        if tp.topic in context.topics_with_deletion_started
    }
    yield from fail_replicas(context, [one for one, error in answered.items() if error is not ErrorCode.NONE])
    deleted = [one for one, error in answered.items() if error is ErrorCode.NONE]
    if deleted:
        yield from change_replicas(context, deleted, _SUCCESSFUL)
        yield from resume_all(context)


def _queue(context: ControllerContext, marked: Collection[str]) -> Decision[None]:
    if not context.facts.delete_topic_enable:
        yield from remove_marks(context, marked, "delete.topic.enable is false")
        return
    new = tuple(sorted(set(marked) - context.topics_to_delete))
    if new:
        context.topics_to_delete.update(new)
        yield LogInfo(f"topics to be deleted: {listed(new)}")


def remove_marks(context: ControllerContext, topics: Collection[str], because: str) -> Decision[None]:
    """Take the marks of ``topics`` away, which are not to be deleted, ``because``."""
    if topics:
        names = tuple(sorted(topics))
        yield LogInfo(f"not to be deleted, because {because}: {listed(names)}")
        yield from ask(RemoveTopicDeletions(names, context.fence))


def _start(context: ControllerContext, topics: Collection[str]) -> Decision[None]:
    """Kafka: ``onTopicDeletion``; nobody serves the topics any more, then their replicas go."""
    yield LogInfo(f"deletion (re)started: {listed(topics)}")
    unseen = [topic for topic in topics if topic not in context.topics_with_deletion_started]
    gone = _partitions(context, unseen)
    yield from change_partitions(context, gone, PartitionMachineState.OFFLINE)
    yield from change_partitions(context, gone, PartitionMachineState.NON_EXISTENT)
    context.topics_with_deletion_started.update(unseen)
    yield from update_metadata(context, context.brokers, _partitions(context, topics))
    yield from _delete_replicas(context, topics)


def _delete_replicas(context: ControllerContext, topics: Collection[str]) -> Decision[None]:
    """Kafka: ``onPartitionDeletion``."""
    dead: list[PartitionReplica] = []
    alive: list[PartitionReplica] = []
    for one in context.replicas(_partitions(context, topics)):
        # One that a live broker has refused is asked, too: where its log is lost there is nothing to delete,
        # and where its directory has failed the broker says so again.
        if one.replica not in context.live_brokers:
            dead.append(one)
        elif context.replica_states.get(one) is not _SUCCESSFUL:
            alive.append(one)
    yield from change_replicas(context, dead, _INELIGIBLE)
    # Followers first stop to fetch, so that no leader is asked for what it has just deleted.
    yield from change_replicas(context, alive, _OFFLINE)
    yield from change_replicas(context, alive, _STARTED)
    yield from halt(context, {one.partition.topic for one in dead}, OFFLINE_REPLICAS)


def _complete(context: ControllerContext, topic: str) -> Decision[None]:
    moved = [topic] if context.is_being_reassigned(topic) else []
    replicas = context.replicas(_partitions(context, (topic,)))
    yield from change_replicas(context, replicas, ReplicaMachineState.NON_EXISTENT)
    yield from ask(DeleteTopic(topic, context.fence))
    context.forget_topic(topic)
    yield LogInfo(f"topic {topic} is deleted")
    yield from withdraw_topics(context, moved)


def _partitions(context: ControllerContext, topics: Iterable[str]) -> list[TopicPartition]:
    return [
        TopicPartition(topic, number)
        for topic in sorted(topics)
        for number in context.assignments.get(topic, ())
    ]
