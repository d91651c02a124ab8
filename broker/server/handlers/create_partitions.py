"""CreatePartitions (37): pass the topics to the controller, and wait until all leaders are known here.

Sources: ``KafkaApis.handleCreatePartitionsRequest``, ``ZkAdminManager.createPartitions`` and
``DelayedCreatePartitions`` of release 2.8.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.server.handlers.delayed_topics import await_leaders
from barnabas.broker.server.portions import RequestDeadline, submit
from barnabas.broker.wire.frames import NO_THROTTLE, Request, milliseconds
from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.topics import CreatePartitions, NewPartitions, TopicResult
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.runtime.turn import freed_in_turns, paced


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return the result of each topic; a topic named more than once is refused once."""
    body = request.body
    deadline = RequestDeadline(milliseconds(body.timeout))
    times: Counter[str] = Counter()
    async for topic in paced(body.topics):
        times[topic.name] += 1
    wanted = [_new_partitions(topic) async for topic in paced(body.topics) if times[topic.name] == 1]
    results: dict[str, TopicResult] = {}
    async for portion, outcome in submit(
        context.controller, wanted, lambda some: CreatePartitions(tuple(some), body.validate_only), deadline
    ):
        if isinstance(outcome, Refused):
            results |= _all_refused(portion, outcome)
        else:
            results |= {result.name: result for result in outcome.topics}
    async for name in paced(times):
        if times[name] > 1:
            results[name] = TopicResult(name, ErrorCode.INVALID_REQUEST, f"Duplicate topic name: {name}")
    if not body.validate_only:
        results |= await await_leaders(context, results.values(), deadline)
    answers = [
        request.answer(
            "CreatePartitionsTopicResult",
            name=result.name,
            error_code=result.error,
            error_message=result.message,
        )
        async for result in paced(results.values())
    ]
    await freed_in_turns(times, wanted, results)
    return request.answer("CreatePartitionsResponse", throttle_time=NO_THROTTLE, results=tuple(answers))


def _all_refused(topics: Sequence[NewPartitions], refusal: Refused) -> dict[str, TopicResult]:
    return {each.topic: TopicResult(each.topic, refusal.error, refusal.message) for each in topics}


def _new_partitions(topic: Any) -> NewPartitions:
    if topic.assignments is None:
        return NewPartitions(topic.name, topic.count)
    by_hand = tuple(tuple(map(BrokerId, new.broker_ids)) for new in topic.assignments)
    return NewPartitions(topic.name, topic.count, by_hand)
