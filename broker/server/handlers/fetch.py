"""Fetch (1): read committed records, incrementally within a session if the client asked for one.

Sources: ``KafkaApis.handleFetchRequest``, ``FetchSession.scala`` of release 2.8; KIP-227, KIP-392.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from barnabas.broker.core.replication.fetch_sessions import (
    FINAL_EPOCH,
    NO_SESSION,
    FetchContext,
    PartitionResult,
    SessionAnswer,
    SessionRequest,
)
from barnabas.broker.replicas.hosted import monotonic_ms
from barnabas.broker.replicas.interface import (
    NO_PREFERRED_REPLICA,
    Fetched,
    FetchPartition,
    FetchResults,
)
from barnabas.broker.server.access import access_of
from barnabas.broker.server.by_topic import topic_answers
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.server.portions import LOCAL_PORTION, portions_of
from barnabas.broker.wire.frames import Body, Request, milliseconds
from barnabas.cluster.model.acls import AclOperation, ResourceType
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH, LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime.turn import FEW, Turn, freed_in_turns, paced

_STORAGE_ERROR_SINCE = 6
_ZSTD_SINCE = 10
_RACK_SINCE = 11
_DIVERGING_EPOCH_SINCE = 12
_READ_COMMITTED = 1

_PARTITION_BYTES = 60
"""The approximate bytes of an answer for each partition without its records."""

_DENIED = Fetched(ErrorCode.TOPIC_AUTHORIZATION_FAILED)

Context = FetchContext[FetchPartition]


async def handle(context: ServerContext, request: Request) -> Answer:
    """Read now, or hold the answer until there is enough (long poll)."""
    begun = await _begin(context, request)
    if isinstance(begun, ErrorCode):
        return _response(request, (), SessionAnswer(NO_SESSION, begun))
    wanted, denied = begun.wanted, FetchResults()
    if context.authorizer is not None:
        denied = await _denied(context, request, wanted)
        wanted = {each: begun.wanted[each] async for each in paced(begun.wanted) if each not in denied}
    results = await _read(context, request, wanted)
    results |= denied
    wait_ms = _throttle_ms(context, request, results)
    if wait_ms > 0:
        return _response(request, (), context.fetch_sessions.throttled(begun), wait_ms)
    session_results: dict[TopicPartition, PartitionResult] = {}
    turn = Turn(few=FEW)
    for each, fetched in results.items():
        context.meter.fetched(each.topic, len(fetched.records), fetched.error)
        session_results[each] = _session_result(fetched)
        await turn.yield_if_long()
    answer = context.fetch_sessions.finish(begun, session_results, monotonic_ms())
    topics = await topic_answers(
        request,
        "FetchableTopicResponse",
        results if answer.included is None else [each for each in results if each in answer.included],
        lambda tp: _partition(request, tp.partition, results[tp]),
        name="topic",
    )
    if len(results) > LOCAL_PORTION:
        unused: list[Any] = [wanted, begun.wanted]
        del wanted, begun
        await freed_in_turns(results, denied, session_results, unused)
    return _response(request, topics, answer)


async def _begin(context: ServerContext, request: Request) -> Context | ErrorCode:
    """Find the partitions to read: those in the request, and in a session those of earlier requests.

    Each is read once, however often it was requested, so that its records are bounded.
    """
    body, asker = request.body, _asker(request)
    turn = Turn(few=FEW)
    named: dict[TopicPartition, FetchPartition] = {}
    for topic in body.topics:
        for each in topic.partitions:
            named[TopicPartition(topic.topic, each.partition)] = _wanted(asker, each)
            await turn.yield_if_long()
    forgotten = (
        TopicPartition(topic.topic, number)
        for topic in getattr(body, "forgotten_topics_data", ())
        for number in topic.partitions
    )
    begun = context.fetch_sessions.begin(
        SessionRequest(
            getattr(body, "session_id", NO_SESSION),
            getattr(body, "session_epoch", FINAL_EPOCH),
            named,
            forgotten,
            privileged=body.replica_id >= 0,
        ),
        monotonic_ms(),
    )
    if isinstance(begun, ErrorCode) or begun.session is None:
        return begun
    # The fields that describe the client may have changed since the session got the partition.
    renewed = {
        topic_partition: wanted if _has(wanted, asker) else replace(wanted, **asker)
        async for topic_partition, wanted in paced(begun.wanted.items())
    }
    return replace(begun, wanted=renewed)


async def _denied(context: ServerContext, request: Request, wanted: Iterable[TopicPartition]) -> FetchResults:
    """Return an error for each partition that the client may not read; partitions of a session count, too.

    A follower needs CLUSTER_ACTION, a consumer READ of the topic.
    """
    access = access_of(context, request)
    if request.body.replica_id >= 0:
        return {} if access.cluster(AclOperation.CLUSTER_ACTION) else dict.fromkeys(wanted, _DENIED)
    denied = await access.denied(AclOperation.READ, ResourceType.TOPIC, (each.topic for each in wanted))
    return {each: _DENIED async for each in paced(wanted) if each.topic in denied}


async def _read(
    context: ServerContext, request: Request, wanted: Mapping[TopicPartition, FetchPartition]
) -> FetchResults:
    """Wait until there is enough, then read in portions."""
    body, left = request.body, _max_bytes(context, request)
    max_wait_ms = max(0, milliseconds(body.max_wait))
    await context.reads.wait(wanted, max_wait_ms=max_wait_ms, min_bytes=min(body.min_bytes, left))
    results: FetchResults = {}
    is_empty, turn = True, Turn(few=1)
    for portion in portions_of(wanted, LOCAL_PORTION):
        some = context.reads.read(portion, left, at_least_one=is_empty)
        read = sum(len(fetched.records) for fetched in some.values())
        left -= read
        is_empty = is_empty and not read
        results |= some
        await turn.yield_if_long()
    return results


def _has(wanted: FetchPartition, asker: Mapping[str, Any]) -> bool:
    return all(getattr(wanted, name) == value for name, value in asker.items())


def _asker(request: Request) -> dict[str, Any]:
    """Return the fields of ``FetchPartition`` that are the same for every partition of a request."""
    return {
        "allow_zstd": request.version >= _ZSTD_SINCE,
        "read_committed": request.body.isolation_level == _READ_COMMITTED,
        "replica_id": request.body.replica_id,
        "rack": request.body.rack_id if request.version >= _RACK_SINCE else None,
    }


def _epoch(partition: Body, name: str) -> LeaderEpoch:
    """Return an epoch of the request; any negative number means none (``FetchRequest.optionalEpoch``)."""
    return LeaderEpoch(max(UNKNOWN_LEADER_EPOCH, getattr(partition, name, UNKNOWN_LEADER_EPOCH)))


def _wanted(asker: Mapping[str, Any], partition: Any) -> FetchPartition:
    return FetchPartition(
        offset=partition.fetch_offset,
        max_bytes=partition.partition_max_bytes,
        current_leader_epoch=_epoch(partition, "current_leader_epoch"),
        last_fetched_epoch=_epoch(partition, "last_fetched_epoch"),
        **asker,
    )


def _max_bytes(context: ServerContext, request: Request) -> int:
    """Return the most bytes of the answer, so that a client with a quota can get it at all."""
    most = min(request.body.max_bytes, context.settings.fetch_max_bytes)
    return (
        context.quotas.most_fetched(request.principal.name, request.client_id, most)
        if context.quotas.are_set and request.body.replica_id < 0
        else most
    )


def _throttle_ms(context: ServerContext, request: Request, results: FetchResults) -> int:
    """Record the answer for the client's quotas; return the throttle time, during which it gets no records.

    A follower is throttled by the replication quotas alone.
    """
    spent = request.progress.spent
    if not context.quotas.are_set or spent is None:
        return 0
    if request.body.replica_id >= 0:
        spent.exempt()
        return 0
    size = sum(_PARTITION_BYTES + len(fetched.records) for fetched in results.values())
    seconds = spent.decide()
    return context.quotas.fetched(request.principal.name, request.client_id, size, seconds)


def _session_result(fetched: Fetched) -> PartitionResult:
    is_due = (
        len(fetched.records) > 0
        or fetched.preferred_read_replica != NO_PREFERRED_REPLICA
        or fetched.diverging_epoch is not None
    )
    is_error = fetched.error is not ErrorCode.NONE
    return PartitionResult(fetched.high_watermark, fetched.log_start_offset, is_error, is_due)


def _response(
    request: Request, topics: tuple[Answer, ...], answer: SessionAnswer, wait_ms: int = 0
) -> Answer:
    return request.answer(
        "FetchResponse",
        throttle_time=timedelta(milliseconds=wait_ms),
        error_code=answer.error,
        session_id=answer.session_id,
        responses=topics,
    )


def _partition(request: Request, index: int, fetched: Fetched) -> Answer:
    error = fetched.error
    if error is ErrorCode.KAFKA_STORAGE_ERROR and request.version < _STORAGE_ERROR_SINCE:
        error = ErrorCode.NOT_LEADER_OR_FOLLOWER  # KIP-112: older clients do not know KAFKA_STORAGE_ERROR
    values = {
        "partition_index": index,
        "error_code": error,
        "high_watermark": fetched.high_watermark,
        "last_stable_offset": fetched.last_stable_offset,
        "log_start_offset": fetched.log_start_offset,
        "aborted_transactions": _aborted(request, fetched),
        "preferred_read_replica": fetched.preferred_read_replica,
        "records": fetched.records,
    }
    diverging = fetched.diverging_epoch
    if diverging is not None and request.version >= _DIVERGING_EPOCH_SINCE:
        values["diverging_epoch"] = request.answer(
            "EpochEndOffset", epoch=diverging.epoch, end_offset=diverging.end_offset
        )
    return request.answer("PartitionData", **values)


def _aborted(request: Request, fetched: Fetched) -> tuple[Answer, ...] | None:
    """Return the aborted transactions of the records, if the client requested them."""
    if request.body.isolation_level != _READ_COMMITTED:
        return None
    return tuple(
        request.answer("AbortedTransaction", producer_id=each.producer_id, first_offset=each.first_offset)
        for each in fetched.aborted_transactions
    )
