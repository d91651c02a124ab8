"""Requests that brokers failed to carry out with an unexpected error are sent again (not in Kafka).

Kafka's controller logs such an answer and goes on: the replica never leads or follows, the topic is never
deleted. Here the failure is remembered. After a pause that doubles each time, the broker is sent the state as
it is then. What no longer needs to be sent is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.controller.core.batches.request_batch import RequestBatch, update_metadata
from barnabas.controller.core.context.controller_context import ControllerContext
from barnabas.controller.core.protocol.effects import Decision, Effect, LogInfo, listed
from barnabas.controller.core.topics import topic_deletion


@dataclass(frozen=True, slots=True)
class ScheduleResend(Effect):
    """The effect that puts `ResendRequests` into the mailbox after ``delay_s`` seconds."""

    delay_s: float


UNFORESEEN = ErrorCode.UNKNOWN_SERVER_ERROR
"""The error code in a broker's response for a partition that failed with an unexpected error."""

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0


def fail_leaderships(
    context: ControllerContext, broker: BrokerId, errors: Mapping[TopicPartition, ErrorCode]
) -> Decision[None]:
    """Remember which partitions of a LeaderAndIsr failed on ``broker``.

    Args:
        context: The controller context.
        broker: The broker that answered.
        errors: Its answer for each partition; any other than `UNFORESEEN` ends an earlier failure.
    """
    if broker not in context.failures.leaderships and UNFORESEEN not in errors.values():
        return
    failed = context.failures.leaderships.setdefault(broker, set())
    for tp, error in errors.items():
        if error is UNFORESEEN:
            failed.add(tp)
        else:
            failed.discard(tp)
    if failed:
        yield from _schedule(context)
    else:
        del context.failures.leaderships[broker]


def fail_metadata(context: ControllerContext, broker: BrokerId) -> Decision[None]:
    """Remember that ``broker`` failed at an UpdateMetadata: it is sent all metadata again."""
    context.failures.metadata.add(broker)
    yield from _schedule(context)


def fail_deletions(
    context: ControllerContext, broker: BrokerId, errors: Mapping[TopicPartition, ErrorCode]
) -> Decision[None]:
    """Remember which replicas ``broker`` failed to delete."""
    failed = [tp for tp, error in errors.items() if error is UNFORESEEN]
    for tp in failed:
        if context.is_being_deleted(tp.topic):
            context.failures.deletions.add(tp.topic)
        else:
            context.failures.removals.setdefault(broker, set()).add(tp)
    if failed:
        yield from _schedule(context)


def resend(context: ControllerContext) -> Decision[None]:
    """Send the failed requests again, with the state as it is now.

    A request that fails again is remembered again; only then the next pause is twice as long.
    """
    failures = context.failures
    failures.is_scheduled = False
    if failures.is_empty:
        failures.rounds = 0
        return
    leaderships, failures.leaderships = failures.leaderships, {}
    removals, failures.removals = failures.removals, {}
    metadata, failures.metadata = failures.metadata & context.brokers.keys(), set()
    topics, failures.deletions = failures.deletions, set()
    batch = RequestBatch(context)
    for broker, tps in leaderships.items():
        for tp in sorted(tps):
            state = context.leaderships.get(tp)
            is_replica = broker in context.assignment(tp).replicas
            if state is not None and is_replica and not context.is_being_deleted(tp.topic):
                batch.add_leader_and_isr((broker,), tp, state)
    for broker, tps in removals.items():
        for tp in sorted(tps):
            if broker not in context.assignment(tp).replicas:
                batch.add_stop_replica(broker, tp, delete=True)
    brokers = {*leaderships, *removals, *metadata}
    yield LogInfo(
        f"telling brokers again what they failed at: {listed(sorted(brokers))}; topics to delete: "
        f"{listed(sorted(topics))}"
    )
    if leaderships or removals:
        yield from batch.flush()
    if metadata:
        led = [tp for tp in context.leaderships if not context.is_being_deleted(tp.topic)]
        yield from update_metadata(context, metadata, led, is_complete=True)
    yield from topic_deletion.resume_deletion_for_topics(context, topics)
    # If nothing has failed by then, the next failure starts with the first pause again.
    yield from _schedule(context)


def _schedule(context: ControllerContext) -> Decision[None]:
    failures = context.failures
    if not failures.is_scheduled:
        failures.is_scheduled = True
        yield ScheduleResend(min(FIRST_PAUSE_S * 2**failures.rounds, LONGEST_PAUSE_S))
        failures.rounds += 1
