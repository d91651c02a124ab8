"""AlterClientQuotas (49): alter the quotas of users, clients and addresses (KIP-546).

Source: ``KafkaApis.handleAlterClientQuotasRequest`` and ``ZkAdminManager.alterClientQuotas`` of release 2.8.
"""

from __future__ import annotations

from typing import Any

from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.client_quotas import QuotaEntity, QuotaError, QuotaOperation, altered, entity_of
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.runtime.turn import paced
from barnabas.cluster.zk.client.errors import BadVersion, NodeExists, NoNode, ZooKeeperError

MOST_OPERATIONS = 1_000
"""The most operations on one entity; it has five settings at most."""


async def handle(context: ServerContext, request: Request) -> Answer:
    """Alter the quotas of each entity separately; return the results in the order of the request."""
    entries = [await _altered(context, request, entry) async for entry in paced(request.body.entries)]
    return request.answer("AlterClientQuotasResponse", throttle_time=NO_THROTTLE, entries=tuple(entries))


async def _altered(context: ServerContext, request: Request, entry: Any) -> Answer:
    error, message = ErrorCode.NONE, None
    try:
        if len(entry.ops) > MOST_OPERATIONS:
            message = f"An entity may be altered by {MOST_OPERATIONS} operations, not by {len(entry.ops)}"
            raise QuotaError(ErrorCode.INVALID_REQUEST, message)
        operations = [QuotaOperation(op.key, None if op.remove else op.value) for op in entry.ops]
        entity = entity_of((part.entity_type, part.entity_name) for part in entry.entity)
        await _alter(context, entity, operations, validate_only=request.body.validate_only)
    except QuotaError as refused:
        error, message = refused.error, str(refused)
    except ZooKeeperError as failed:
        error, message = ErrorCode.REQUEST_TIMED_OUT, f"ZooKeeper did not answer: {failed}"
    return request.answer(
        "EntryData",
        error_code=error,
        error_message=message,
        entity=await entity_answers(request, entry),
    )


async def entity_answers(request: Request, entry: Any) -> tuple[Answer, ...]:
    """Return the entity of an entry, as the answer repeats it, with any number of parts."""
    return tuple(
        [
            request.answer("EntityData", entity_type=part.entity_type, entity_name=part.entity_name)
            async for part in paced(entry.entity)
        ]
    )


async def _alter(
    context: ServerContext, entity: QuotaEntity, operations: list[QuotaOperation], *, validate_only: bool
) -> None:
    """Apply the operations to the stored settings and write the result; after a conflict, read again.

    Raises:
        QuotaError: An operation is invalid, or the stored settings cannot be read.
        ZooKeeperError: ZooKeeper did not answer.
    """
    altered(entity, {}, operations)  # An invalid request is refused without reading.
    while True:
        store = context.quota_store()
        stored = (await store.read([entity]))[entity]
        if stored.settings is None:
            raise QuotaError(ErrorCode.INVALID_CONFIG, f"The stored settings cannot be read: {stored.error}")
        own = altered(entity, stored.settings, operations)
        if validate_only:
            return
        try:
            await store.write(entity, own, stored.version)
        except (BadVersion, NodeExists, NoNode):
            continue
        return
