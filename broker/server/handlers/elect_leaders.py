"""ElectLeaders (43): hand the elections to the controller, and wait until their leaders are known here.

Sources: KIP-183 and KIP-460; ``KafkaApis.handleElectReplicaLeader``, ``ReplicaManager.electLeaders`` and
``DelayedElectLeader`` of release 2.8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from broker.server.context import Answer, ServerContext
from broker.server.metadata_purgatories import await_metadata
from broker.wire.frames import NO_THROTTLE, Request, milliseconds
from cluster.model.commands import Refused
from cluster.model.commands_elections import ElectionResult, ElectionType, ElectLeaders
from cluster.model.errors import ErrorCode
from cluster.model.ids import TopicPartition

_TYPES = {int(kind): kind for kind in ElectionType}


async def handle(context: ServerContext, request: Request) -> Answer:
    """What became of each partition; where all were asked for, those whose leader was right are left out."""
    body = request.body
    timeout_ms = milliseconds(body.timeout)
    deadline = asyncio.get_running_loop().time() + timeout_ms / 1000
    tps = _partitions(context, body)
    # Version 0 knows preferred elections alone.
    number = int(getattr(body, "election_type", ElectionType.PREFERRED))
    kind = _TYPES.get(number)
    if kind is None:
        refusal = ElectionResult(
            ErrorCode.INVALID_REQUEST, f"There is no election type {number}; expected one of {sorted(_TYPES)}"
        )
        return _answer(request, dict.fromkeys(tps, refusal))
    told = await context.controller.submit(ElectLeaders(kind, tps), timeout_ms)
    if isinstance(told, Refused):
        return _answer(request, dict.fromkeys(tps, ElectionResult(told.error, told.message)))
    results = dict(told.elections)
    left_ms = (deadline - asyncio.get_running_loop().time()) * 1000
    results |= await _await_leaders(context, results, int(left_ms))
    if body.topic_partitions is None:
        unneeded = ErrorCode.ELECTION_NOT_NEEDED
        results = {tp: result for tp, result in results.items() if result.error is not unneeded}
    return _answer(request, results)


def _partitions(context: ServerContext, body: Any) -> tuple[TopicPartition, ...]:
    """Those asked for, each once; all that this broker knows where the request names none."""
    if body.topic_partitions is None:
        known = context.metadata
        return tuple(TopicPartition(t, n) for t in sorted(known.topics) for n in sorted(known.partitions(t)))
    asked = (TopicPartition(topic.topic, n) for topic in body.topic_partitions for n in topic.partitions)
    return tuple(dict.fromkeys(asked))


async def _await_leaders(
    context: ServerContext, results: Mapping[TopicPartition, ElectionResult], left_ms: int
) -> dict[TopicPartition, ElectionResult]:
    """``REQUEST_TIMED_OUT`` for each partition whose new leader is not known here in the end."""
    elected = {tp: result.leader for tp, result in results.items() if result.error is ErrorCode.NONE}

    def leads(tp: TopicPartition) -> bool:
        known = context.metadata.partition(tp)
        return known is not None and known.state.leader_and_isr.leader == elected[tp]

    late = await await_metadata(context.purgatories.elections, elected, leads, left_ms)
    return dict.fromkeys(late, ElectionResult(ErrorCode.REQUEST_TIMED_OUT))


def _answer(request: Request, results: Mapping[TopicPartition, ElectionResult]) -> Answer:
    by_topic = groupby(sorted(results), key=lambda tp: tp.topic)
    return request.answer(
        "ElectLeadersResponse",
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.NONE,
        replica_election_results=tuple(
            request.answer(
                "ReplicaElectionResult",
                topic=topic,
                partition_result=tuple(
                    request.answer(
                        "PartitionResult",
                        partition_id=tp.partition,
                        error_code=results[tp].error,
                        error_message=results[tp].message,
                    )
                    for tp in tps
                ),
            )
            for topic, tps in by_topic
        ),
    )
