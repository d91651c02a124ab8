"""UpdateFeatures (57): refused, because features are versioned from inter.broker.protocol 2.7 on (KIP-584).

Source: ``KafkaApis.handleUpdateFeatures`` and ``KafkaConfig.isFeatureVersioningSupported`` of release 2.8.
"""

from __future__ import annotations

from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.errors import ErrorCode


async def handle(context: ServerContext, request: Request) -> Answer:
    """Answer ``INVALID_REQUEST`` as the controller; ``NOT_CONTROLLER`` as another broker."""
    is_controller = context.metadata.controller == context.broker_id
    return request.answer(
        "UpdateFeaturesResponse",
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.INVALID_REQUEST if is_controller else ErrorCode.NOT_CONTROLLER,
        error_message="Feature versioning system is disabled." if is_controller else None,
        results=(),
    )
