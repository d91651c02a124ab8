"""Gates of DescribeConfigs, AlterConfigs and IncrementalAlterConfigs.

Source: ``ConfigHelper.describeConfigs``, ``KafkaApis.handleAlterConfigsRequest`` and
``handleIncrementalAlterConfigsRequest`` of Kafka 2.8.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from barnabas.broker.server.access import access_of
from barnabas.broker.server.context import Answer, Handler, ServerContext
from barnabas.broker.wire.frames import Request
from barnabas.cluster.model.acls import AclOperation, ResourceType
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.runtime.turn import freed_in_turns, paced

_TOPIC = 2
"""The type of a resource with settings that is a topic; brokers and their loggers belong to the cluster."""


@dataclass(frozen=True, slots=True)
class EachResource:
    """A gate that needs an operation on each topic, and on the cluster for brokers.

    Attributes:
        operation: The operation.
        response: The class of a resource in the answer, and the field of the answer that lists them.
    """

    operation: AclOperation
    response: tuple[str, str]

    async def __call__(self, context: ServerContext, request: Request, handler: Handler) -> Answer:
        """Pass on the allowed resources and refuse the others."""
        access, body = access_of(context, request), request.body
        names, others = [], False
        async for each in paced(body.resources):
            if each.resource_type == _TOPIC:
                names.append(each.resource_name)
            else:
                others = True
        denied = await access.denied(self.operation, ResourceType.TOPIC, names)
        may_cluster = not others or access.cluster(self.operation)
        kept: list[Any] = []
        refused: dict[tuple[int, str], Answer] = {}
        async for each in paced(body.resources):
            named = (each.resource_type, each.resource_name)
            if each.resource_type == _TOPIC and each.resource_name in denied:
                refused[named] = self._refused(request, *named, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            elif each.resource_type != _TOPIC and not may_cluster:
                refused[named] = self._refused(request, *named, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
            else:
                kept.append(each)

        answer = await handler(context, request.with_body(resources=tuple(kept)))
        field = self.response[1]
        whole = replace(answer, **{field: (*getattr(answer, field), *refused.values())})
        await freed_in_turns(refused)
        return whole

    def _refused(self, request: Request, type_: int, name: str, error: ErrorCode) -> Answer:
        is_topic = error is ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return request.answer(
            self.response[0],
            error_code=error,
            error_message=f"{'Topic' if is_topic else 'Cluster'} authorization failed.",
            resource_type=type_,
            resource_name=name,
            configs=(),
        )
