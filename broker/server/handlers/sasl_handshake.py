"""SaslHandshake (17) of a client that cannot authenticate now: `SaslGate` answers the others.

Source: ``KafkaApis.handleSaslHandshakeRequest`` of release 2.8.
"""

from __future__ import annotations

from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import Request
from barnabas.cluster.model.errors import ErrorCode


async def handle(_context: ServerContext, request: Request) -> Answer:
    """Refuse: the listener has no SASL, or the client is authenticated and must not be again."""
    return request.answer("SaslHandshakeResponse", error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=())
