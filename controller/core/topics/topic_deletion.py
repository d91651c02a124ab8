"""Kafka's ``TopicDeletionManager``: the deletion of topics and their replicas, and what it waits for.

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


def process_topic_deletion(context: ControllerContext) -> Decision[None]:
    """Read the marked topics: queue those that exist, and remove the marks of others."""
    marked = yield from ask(ReadTopicDeletions())
    unknown = marked - context.assignments.keys()
    # A topic whose node is empty or damaged is unknown here, but can be deleted.
    missing = unknown - (yield from ask(ReadTopics())) if unknown else unknown
    marked -= missing
    yield from _queue(context, marked)
    yield from mark_topic_ineligible_for_deletion(
        context, filter(context.is_being_reassigned, marked), REASSIGNMENT
    )
    yield from resume_deletions(context)
    # This comes last, so that an error here does not stop the deletion of existing topics.
    yield from remove_marks(context, missing, "there is no such topic")


def fetch_topic_deletions_in_progress(context: ControllerContext) -> Decision[None]:
    """Queue the marked topics of former controllers; the failover calls `resume_deletions` later."""
    marked = yield from ask(ReadTopicDeletions())
    yield from _queue(context, marked)
    yield from mark_topic_ineligible_for_deletion(
        context, filter(context.is_being_reassigned, marked), REASSIGNMENT
    )
    offline = {
        tp.topic
        for tp, replica in context.replicas(_partitions(context, marked))
        if not context.is_online(replica, tp)
    }
    yield from mark_topic_ineligible_for_deletion(context, offline, OFFLINE_REPLICAS)


def mark_topic_ineligible_for_deletion(
    context: ControllerContext, topics: Iterable[str], because: str
) -> Decision[None]:
    """Mark the queued ones of ``topics`` ineligible until `resume_deletion_for_topics` is called.

    Args:
        context: The controller context.
        topics: Topics, queued or not.
        because: Ends the sentence "halted, because of ...".
    """
    halted = tuple(sorted(context.topics_to_delete.intersection(topics)))
    if halted:
        context.topics_ineligible_for_deletion.update(halted)
        yield LogInfo(f"deletion halted, because of {because}: {listed(halted)}")


def resume_deletion_for_topics(context: ControllerContext, topics: Iterable[str]) -> Decision[None]:
    """Make the queued ones of ``topics`` eligible again, and resume their deletion."""
    queued = context.topics_to_delete.intersection(topics)
    if queued:
        context.topics_ineligible_for_deletion -= queued
        yield from resume_deletions(context)


def resume_deletions(context: ControllerContext) -> Decision[None]:
    """Do the next step of the deletion of every queued topic.

    If all replicas are deleted, the topic is removed from ZooKeeper. If no broker's response is awaited,
    failed replicas are prepared for a retry, and the deletion of an eligible topic is (re)started.
    """
    failed: list[PartitionReplica] = []
    eligible: list[str] = []
    for topic in sorted(context.topics_to_delete):
        replicas = context.replicas(_partitions(context, (topic,)))
        states = {context.replica_states.get(one) for one in replicas}
        if states <= {_SUCCESSFUL}:
            # An error with one topic's nodes must not stop the others; it is tried again with the next
            # deletion.
            yield from attempt(f"the end of topic {topic}", _complete_delete_topic(context, topic))
        elif _STARTED not in states:
            failed += [one for one in replicas if context.replica_states.get(one) is _INELIGIBLE]
            if topic not in context.topics_ineligible_for_deletion:
                eligible.append(topic)
    if failed:
        yield LogInfo(f"deletion to be tried again of the replicas {listed(failed)}")
        yield from change_replicas(context, failed, _OFFLINE)
    if eligible:
        yield from _on_topic_deletion(context, eligible)


def fail_replica_deletion(context: ControllerContext, replicas: Iterable[PartitionReplica]) -> Decision[None]:
    """Mark those of ``replicas`` whose topics are queued ineligible for deletion."""
    failed = [one for one in replicas if context.is_being_deleted(one.partition.topic)]
    if failed:
        yield from change_replicas(context, failed, _INELIGIBLE)
        yield from mark_topic_ineligible_for_deletion(
            context, {one.partition.topic for one in failed}, FAILED_REPLICAS
        )
        yield from resume_deletions(context)


def process_deletions(
    context: ControllerContext, broker: BrokerId, errors: Mapping[TopicPartition, ErrorCode]
) -> Decision[None]:
    """Handle the response of ``broker`` to a deletion of replicas (``completeReplicaDeletion``)."""
    answered = {
        PartitionReplica(tp, broker): error
        for tp, error in errors.items()
        if tp.topic in context.topics_with_deletion_started
    }
    yield from fail_replica_deletion(
        context, [one for one, error in answered.items() if error is not ErrorCode.NONE]
    )
    deleted = [one for one, error in answered.items() if error is ErrorCode.NONE]
    if deleted:
        yield from change_replicas(context, deleted, _SUCCESSFUL)
        yield from resume_deletions(context)


def _queue(context: ControllerContext, marked: Collection[str]) -> Decision[None]:
    if not context.facts.delete_topic_enable:
        yield from remove_marks(context, marked, "delete.topic.enable is false")
        return
    new = tuple(sorted(set(marked) - context.topics_to_delete))
    if new:
        context.topics_to_delete.update(new)
        yield LogInfo(f"topics to be deleted: {listed(new)}")


def remove_marks(context: ControllerContext, topics: Collection[str], because: str) -> Decision[None]:
    """Remove the marks of ``topics``, which will not be deleted, ``because``."""
    if topics:
        names = tuple(sorted(topics))
        yield LogInfo(f"not to be deleted, because {because}: {listed(names)}")
        yield from ask(RemoveTopicDeletions(names, context.fence))


def _on_topic_deletion(context: ControllerContext, topics: Collection[str]) -> Decision[None]:
    """Stop all access to the topics, then delete their replicas (Kafka: ``onTopicDeletion``)."""
    yield LogInfo(f"deletion (re)started: {listed(topics)}")
    unseen = [topic for topic in topics if topic not in context.topics_with_deletion_started]
    gone = _partitions(context, unseen)
    yield from change_partitions(context, gone, PartitionMachineState.OFFLINE)
    yield from change_partitions(context, gone, PartitionMachineState.NON_EXISTENT)
    context.topics_with_deletion_started.update(unseen)
    yield from update_metadata(context, context.brokers, _partitions(context, topics))
    yield from _on_partition_deletion(context, topics)


def _on_partition_deletion(context: ControllerContext, topics: Collection[str]) -> Decision[None]:
    """Delete the live replicas; dead ones make the topic ineligible (Kafka: ``onPartitionDeletion``)."""
    dead: list[PartitionReplica] = []
    alive: list[PartitionReplica] = []
    for one in context.replicas(_partitions(context, topics)):
        # A broker that has refused the replica is asked, too: if the log is lost there is nothing to delete,
        # and if its directory has failed the broker answers so again.
        if one.replica not in context.live_brokers:
            dead.append(one)
        elif context.replica_states.get(one) is not _SUCCESSFUL:
            alive.append(one)
    yield from change_replicas(context, dead, _INELIGIBLE)
    # Followers stop fetching first, so that no leader gets a fetch of a replica that it has just deleted.
    yield from change_replicas(context, alive, _OFFLINE)
    yield from change_replicas(context, alive, _STARTED)
    yield from mark_topic_ineligible_for_deletion(
        context, {one.partition.topic for one in dead}, OFFLINE_REPLICAS
    )


def _complete_delete_topic(context: ControllerContext, topic: str) -> Decision[None]:
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
