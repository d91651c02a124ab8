"""Produce (0): append batches to the local leaders.

Sources: ``KafkaApis.handleProduceRequest`` and ``ProduceRequest.json`` of release 2.8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from itertools import groupby
from typing import Any

from broker.replicas.interface import Appended, AppendResults
from broker.server.context import Answer, CloseConnectionError, ServerContext
from broker.wire.frames import NO_THROTTLE, Request, milliseconds
from cluster.model.errors import ErrorCode
from cluster.model.ids import TopicPartition

ADMIN_CLIENT_ID = "__admin_client"
"""The one client that may write to internal topics, which otherwise belong to the coordinators."""

_ZSTD_SINCE = 7
_STORAGE_ERROR_SINCE = 4
_RECORD_ERRORS_SINCE = 8
_NO_ACKS = 0


def handle(context: ServerContext, request: Request) -> Answer | Awaitable[Answer]:
    """Append now; answer when ``acks`` asks for it.

    Raises:
        CloseConnectionError: With acks=0 an error has no other way to reach the client, which then asks for
            fresh metadata.
    """
    body = request.body
    if body.transactional_id is not None:
        return _refused(request, ErrorCode.UNSUPPORTED_VERSION, "transactions are not served")
    results = context.appends.append(
        {
            TopicPartition(topic.name, partition.index): partition.records
            for topic in body.topic_data
            for partition in topic.partition_data
        },
        acks=body.acks,
        timeout_ms=milliseconds(body.timeout),
        allow_zstd=request.version >= _ZSTD_SINCE,
        allow_internal_topics=request.client_id == ADMIN_CLIENT_ID,
    )
    if body.acks == _NO_ACKS:
        _close_on_error(results.result())
        return None
    return _answer(request, results.result()) if results.done() else _later(request.without_body(), results)


async def _later(request: Request, results: asyncio.Future[AppendResults]) -> Answer:
    """Wait, without holding on to the records, which are written."""
    return _answer(request, await results)


def _refused(request: Request, error: ErrorCode, message: str) -> Answer:
    """The same error for every partition of the request."""
    appended = Appended(error, message=message)
    return _answer(
        request,
        {
            TopicPartition(topic.name, partition.index): appended
            for topic in request.body.topic_data
            for partition in topic.partition_data
        },
    )


def _answer(request: Request, results: AppendResults) -> Answer:
    topics = [
        request.answer(
            "TopicProduceResponse",
            name=name,
            partition_responses=tuple(
                _partition(request, topic_partition.partition, appended)
                for topic_partition, appended in of_topic
            ),
        )
        for name, of_topic in groupby(results.items(), key=lambda result: result[0].topic)
    ]
    return request.answer("ProduceResponse", responses=tuple(topics), throttle_time=NO_THROTTLE)


def _close_on_error(results: AppendResults) -> None:
    for topic_partition, appended in results.items():
        if appended.error is not ErrorCode.NONE:
            raise CloseConnectionError(
                f"a produce request with acks=0 failed for {topic_partition}: {appended.error.name}"
            )


def _partition(request: Request, index: int, appended: Appended) -> Answer:
    error = appended.error
    if error is ErrorCode.KAFKA_STORAGE_ERROR and request.version < _STORAGE_ERROR_SINCE:
        error = ErrorCode.NOT_LEADER_OR_FOLLOWER  # KIP-112: older clients do not know the other
    values: dict[str, Any] = {
        "index": index,
        "error_code": error,
        "base_offset": appended.base_offset,
        "log_append_time": appended.log_append_time,
        "log_start_offset": appended.log_start_offset,
    }
    if request.version >= _RECORD_ERRORS_SINCE:
        values["record_errors"] = tuple(
            request.answer(
                "BatchIndexAndErrorMessage", batch_index=fault.index, batch_index_error_message=fault.message
            )
            for fault in appended.record_faults
        )
        values["error_message"] = appended.message
    return request.answer("PartitionProduceResponse", **values)
