"""The conditions in this broker's metadata that answers about topics wait for.

Sources: ``DelayedCreatePartitions`` and ``DelayedDeleteTopics`` of release 2.8.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from barnabas.broker.server.context import ServerContext
from barnabas.broker.server.metadata_purgatories import await_metadata
from barnabas.broker.server.portions import RequestDeadline, portions
from barnabas.cluster.model.commands.topics import TopicResult
from barnabas.cluster.model.errors import ErrorCode

PROPAGATION_S = 1.0
"""The longest wait for the other brokers to know the leaders of what was created, in seconds.

A live broker answers within milliseconds, a busy one within tenths of a second. One that hangs keeps its
session, 18 s by default: no creation waits for that, or fails because of it.
"""


async def await_leaders(
    context: ServerContext, results: Collection[TopicResult], deadline: RequestDeadline
) -> dict[str, TopicResult]:
    """Return ``REQUEST_TIMED_OUT`` for each created topic with a partition still without a leader.

    Then wait for the other brokers, at most `PROPAGATION_S` seconds (not in Kafka): clients ask any broker
    for the leaders of a topic that they have just created, and librdkafka does not ask again.
    """

    def has_leaders(result: TopicResult) -> bool:
        partitions = context.metadata.partitions(result.name)
        return len(partitions) >= result.partitions and all(
            partition.state.leader_and_isr.has_leader for partition in partitions.values()
        )

    said = "The leaders of topic '{}' were not known within {} ms; it is being created"
    late = await _await(context, results, deadline, has_leaders, said)
    if any(result.error is ErrorCode.NONE and result.name not in late for result in results):
        await context.await_propagation(min(PROPAGATION_S, deadline.left_ms / 1000))
    return late


async def await_absence(
    context: ServerContext, results: Iterable[TopicResult], deadline: RequestDeadline
) -> dict[str, TopicResult]:
    """Return ``REQUEST_TIMED_OUT`` for each deleted topic that is still known."""

    def is_gone(result: TopicResult) -> bool:
        return not context.metadata.partitions(result.name)

    late = "Topic '{}' was still known after {} ms; it is being deleted"
    return await _await(context, results, deadline, is_gone, late)


async def _await(
    context: ServerContext,
    results: Iterable[TopicResult],
    deadline: RequestDeadline,
    is_done: Callable[[TopicResult], bool],
    said: str,
) -> dict[str, TopicResult]:
    begun = {result.name: result for result in results if result.error is ErrorCode.NONE}
    late: list[str] = []
    for names in portions(begun):
        late += await await_metadata(
            context.purgatories.topics, names, lambda name: is_done(begun[name]), deadline.left_ms
        )
    return {
        name: TopicResult(name, ErrorCode.REQUEST_TIMED_OUT, said.format(name, deadline.timeout_ms))
        # As in Kafka, a request without a timeout is not answered with success.
        for name in (late if deadline.timeout_ms > 0 else begun)
    }
