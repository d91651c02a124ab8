"""SaslAuthenticate (36) outside of an authentication; `SaslGate` answers the others.

Source: ``KafkaApis.handleSaslAuthenticateRequest`` of release 2.8.
"""

from __future__ import annotations

import datetime as dt

from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import Request
from barnabas.cluster.model.errors import ErrorCode


async def handle(_context: ServerContext, request: Request) -> Answer:
    """Refuse: the listener has no SASL, or the client is authenticated."""
    return request.answer(
        "SaslAuthenticateResponse",
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate request received after successful authentication",
        auth_bytes=b"",
        session_lifetime=dt.timedelta(0),
    )
