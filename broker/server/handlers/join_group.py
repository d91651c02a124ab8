"""JoinGroup (11): an error, because there are no consumer groups yet.

No client retries after ``UNSUPPORTED_VERSION``: librdkafka, kafka-python and aiokafka report it to their
users at once. Source: ``JoinGroupResponse.json`` of release 2.8.
"""

from __future__ import annotations

from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.errors import ErrorCode

_NO_GENERATION = -1


def handle(_context: ServerContext, request: Request) -> Answer:
    """Return the error, whatever the group."""
    return request.answer(
        "JoinGroupResponse",
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.UNSUPPORTED_VERSION,
        generation_id=_NO_GENERATION,
        protocol_type="",
        protocol_name="",
        leader="",
        member_id=request.body.member_id,
        members=(),
    )
