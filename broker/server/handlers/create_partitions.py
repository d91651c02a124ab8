"""CreatePartitions (37): hand the topics to the controller, and wait until all leaders are known here.

Sources: ``KafkaApis.handleCreatePartitionsRequest``, ``ZkAdminManager.createPartitions`` and
``DelayedCreatePartitions`` of release 2.8.
"""

from __future__ import annotations

from typing import Any

from broker.server.context import Answer, ServerContext
from broker.server.handlers.delayed_topics import Patience, await_leaders
from broker.wire.frames import NO_THROTTLE, Request, milliseconds
from cluster.model.commands import Refused, TopicResult
from cluster.model.commands_topics import CreatePartitions, NewPartitions
from cluster.model.ids import BrokerId


async def handle(context: ServerContext, request: Request) -> Answer:
    """What became of each topic; a topic named more than once is refused once."""
    body = request.body
    patience = Patience(milliseconds(body.timeout))
    command = CreatePartitions(tuple(map(_new_partitions, body.topics)), validate_only=body.validate_only)
    told = await context.controller.submit(command, patience.timeout_ms)
    if isinstance(told, Refused):
        results = {topic.name: TopicResult(topic.name, told.error, told.message) for topic in body.topics}
    else:
        results = {result.name: result for result in told.topics}
        if not body.validate_only:
            results |= await await_leaders(context, told.topics, patience)
    return request.answer(
        "CreatePartitionsResponse",
        throttle_time=NO_THROTTLE,
        results=tuple(
            request.answer(
                "CreatePartitionsTopicResult",
                name=result.name,
                error_code=result.error,
                error_message=result.message,
            )
            for result in results.values()
        ),
    )


def _new_partitions(topic: Any) -> NewPartitions:
    if topic.assignments is None:
        return NewPartitions(topic.name, topic.count)
    by_hand = tuple(tuple(map(BrokerId, new.broker_ids)) for new in topic.assignments)
    return NewPartitions(topic.name, topic.count, by_hand)
