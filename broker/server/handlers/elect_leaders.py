"""ElectLeaders (43): pass the elections to the controller, and wait until their leaders are known here.

Sources: KIP-183 and KIP-460; ``KafkaApis.handleElectReplicaLeader``, ``ReplicaManager.electLeaders`` and
``DelayedElectLeader`` of release 2.8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from barnabas.broker.server.by_topic import topic_answers
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.server.metadata_purgatories import await_metadata
from barnabas.broker.server.portions import RequestDeadline, portions, submit
from barnabas.broker.wire.frames import NO_THROTTLE, Request, milliseconds
from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.elections import ElectionResult, ElectionType, ElectLeaders
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime.turn import freed_in_turns, paced

_TYPES = {int(kind): kind for kind in (ElectionType.PREFERRED, ElectionType.UNCLEAN)}


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return the result of each partition; if all were requested, without those that needed no election."""
    body = request.body
    deadline = RequestDeadline(milliseconds(body.timeout))
    tps = tuple({tp: None async for tp in paced(_partitions(context, body))})
    # Version 0 has preferred elections only.
    number = int(getattr(body, "election_type", ElectionType.PREFERRED))
    kind = _TYPES.get(number)
    if kind is None:
        refusal = ElectionResult(
            ErrorCode.INVALID_REQUEST, f"There is no election type {number}; expected one of {sorted(_TYPES)}"
        )
        return await _answer(request, dict.fromkeys(tps, refusal))
    results: dict[TopicPartition, ElectionResult] = {}
    async for portion, outcome in submit(
        context.controller, tps, lambda some: ElectLeaders(kind, tuple(some)), deadline
    ):
        if isinstance(outcome, Refused):
            results |= dict.fromkeys(portion, ElectionResult(outcome.error, outcome.message))
        else:
            results |= outcome.elections
    results |= await _await_leaders(context, results, deadline)
    if body.topic_partitions is None:
        unneeded = ErrorCode.ELECTION_NOT_NEEDED
        results = {tp: results[tp] async for tp in paced(tps) if results[tp].error is not unneeded}
    answer = await _answer(request, results)
    await freed_in_turns(results)
    return answer


def _partitions(context: ServerContext, body: Any) -> Iterator[TopicPartition]:
    """Yield the requested partitions; all known ones if the request has none."""
    if body.topic_partitions is None:
        known = context.metadata
        return (TopicPartition(t, n) for t in sorted(known.topics) for n in sorted(known.partitions(t)))
    return (TopicPartition(topic.topic, n) for topic in body.topic_partitions for n in topic.partitions)


async def _await_leaders(
    context: ServerContext, results: Mapping[TopicPartition, ElectionResult], deadline: RequestDeadline
) -> dict[TopicPartition, ElectionResult]:
    """Return ``REQUEST_TIMED_OUT`` for each partition whose new leader is still not known here."""
    elected = {tp: results[tp].leader async for tp in paced(results) if results[tp].error is ErrorCode.NONE}

    def leads(tp: TopicPartition) -> bool:
        known = context.metadata.partition(tp)
        return known is not None and known.state.leader_and_isr.leader == elected[tp]

    late: list[TopicPartition] = []
    for tps in portions(elected):
        late += await await_metadata(context.purgatories.elections, tps, leads, deadline.left_ms)
    return dict.fromkeys(late, ElectionResult(ErrorCode.REQUEST_TIMED_OUT))


async def _answer(request: Request, results: Mapping[TopicPartition, ElectionResult]) -> Answer:
    topics = await topic_answers(
        request,
        "ReplicaElectionResult",
        results,
        lambda tp: request.answer(
            "PartitionResult",
            partition_id=tp.partition,
            error_code=results[tp].error,
            error_message=results[tp].message,
        ),
        name="topic",
        listed="partition_result",
    )
    return request.answer(
        "ElectLeadersResponse",
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.NONE,
        replica_election_results=topics,
    )
