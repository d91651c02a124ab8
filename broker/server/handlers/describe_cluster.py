"""DescribeCluster (60): the cluster's id, controller and live brokers (KIP-700).

Source: ``KafkaApis.handleDescribeCluster`` of release 2.8.
"""

from __future__ import annotations

from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.acls import ResourceType
from barnabas.cluster.model.authorized_operations import authorized_operations
from barnabas.cluster.model.errors import ErrorCode

_NO_CONTROLLER = -1
_BROKERS = 1
"""The endpoint type that there is without KRaft (version 1, KIP-919)."""


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return the cluster's metadata at this broker, with the endpoints of the client's listener."""
    metadata = context.metadata
    endpoint_type = getattr(request.body, "endpoint_type", _BROKERS)
    is_known = endpoint_type == _BROKERS
    brokers = [
        request.answer(
            "DescribeClusterBroker",
            broker_id=broker.id,
            host=endpoint.host,
            port=endpoint.port,
            rack=broker.rack,
        )
        for broker in metadata.live_brokers
        if (endpoint := broker.endpoint(request.listener)) is not None
    ]
    is_asked = request.body.include_cluster_authorized_operations
    return request.answer(
        "DescribeClusterResponse",
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.NONE if is_known else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
        error_message=None if is_known else f"Endpoint type {endpoint_type} is not served; expected 1",
        endpoint_type=_BROKERS,
        cluster_id=context.cluster_id,
        controller_id=_NO_CONTROLLER if metadata.controller is None else metadata.controller,
        brokers=tuple(brokers),
        cluster_authorized_operations=authorized_operations(ResourceType.CLUSTER, is_asked=is_asked),
    )
