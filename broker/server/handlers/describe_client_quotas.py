"""DescribeClientQuotas (48): the quotas of users, clients and addresses (KIP-546).

Source: ``KafkaApis.handleDescribeClientQuotasRequest`` of release 2.8.
"""

from __future__ import annotations

from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.client_quotas import FilterComponent, QuotaError, described, quotas_of
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.runtime.turn import paced
from barnabas.cluster.zk.client.errors import ZooKeeperError

_MOST_COMPONENTS = 4
"""The components of a filter that are read: of four, one must be repeated or of an unknown type."""


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return the quotas of the entities that match the filter, as ZooKeeper has them now."""
    body = request.body
    named = body.components[:_MOST_COMPONENTS]
    components = [FilterComponent(each.entity_type, each.match_type, each.match) for each in named]
    try:
        described({}, components, strict=body.strict)  # An invalid filter is refused without reading.
        stored = await context.quota_store().read_all()
    except QuotaError as error:
        return _response(request, error.error, str(error), None)
    except ZooKeeperError as error:
        return _response(request, ErrorCode.REQUEST_TIMED_OUT, f"ZooKeeper did not answer: {error}", None)
    quotas = {
        entity: quotas_of(entity, read.settings)
        async for entity, read in paced(stored.items())
        if read.settings is not None
    }
    entries = [
        request.answer(
            "EntryData",
            entity=tuple(
                request.answer("EntityData", entity_type=kind, entity_name=name)
                for kind, name in entity.parts
            ),
            values=tuple(request.answer("ValueData", key=key, value=value) for key, value in values.items()),
        )
        async for entity, values in paced(described(quotas, components, strict=body.strict).items())
    ]
    return _response(request, ErrorCode.NONE, None, tuple(entries))


def _response(
    request: Request, error: ErrorCode, message: str | None, entries: tuple[Answer, ...] | None
) -> Answer:
    return request.answer(
        "DescribeClientQuotasResponse",
        throttle_time=NO_THROTTLE,
        error_code=error,
        error_message=message,
        entries=entries,
    )
