"""DeleteTopics (20): pass the topics to the controller, and wait until they are no longer known here.

Sources: ``KafkaApis.handleDeleteTopicsRequest``, ``ZkAdminManager.deleteTopics`` and ``DelayedDeleteTopics``
of release 2.8.
"""

from __future__ import annotations

from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.server.handlers.delayed_topics import await_absence
from barnabas.broker.server.portions import RequestDeadline, submit
from barnabas.broker.wire.frames import NO_THROTTLE, Request, milliseconds
from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.topics import DeleteTopics, TopicResult
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.runtime.turn import freed_in_turns, paced

FIRST_WITH_STATES = 6
"""The first version whose requests name topics by name or by id."""

FIRST_WITH_DISABLED = 3
"""The first version whose clients know ``TOPIC_DELETION_DISABLED``."""


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return the result of each topic; a topic named more than once is answered once."""
    deadline = RequestDeadline(milliseconds(request.body.timeout))
    names = await _names(request)
    results: dict[str, TopicResult] = {}
    async for portion, outcome in submit(
        context.controller, names, lambda some: DeleteTopics(tuple(some)), deadline
    ):
        if isinstance(outcome, Refused):
            results |= {name: TopicResult(name, outcome.error, outcome.message) for name in portion}
        else:
            results |= {result.name: result for result in outcome.topics}
    results |= await await_absence(context, results.values(), deadline)
    answers = [_result(request, result) async for result in paced(results.values())]
    await freed_in_turns(results)
    return request.answer(
        "DeleteTopicsResponse",
        throttle_time=NO_THROTTLE,
        responses=(*answers, *await _refused_ids(request)),
    )


async def _names(request: Request) -> tuple[str, ...]:
    """Return the topics in the request, each once."""
    names: dict[str, None] = {}
    if request.version < FIRST_WITH_STATES:
        async for name in paced(request.body.topic_names):
            names[name] = None
    else:
        async for topic in paced(request.body.topics):
            if topic.topic_id is None and topic.name is not None:
                names[topic.name] = None
    return tuple(names)


async def _refused_ids(request: Request) -> list[Answer]:
    """Refuse topics with an id, which do not exist before the inter-broker protocol 2.8.

    A name beside an id is a contradiction.
    """
    if request.version < FIRST_WITH_STATES:
        return []
    return [
        request.answer(
            "DeletableTopicResult",
            name=topic.name,
            topic_id=topic.topic_id,
            error_code=ErrorCode.UNSUPPORTED_VERSION if topic.name is None else ErrorCode.INVALID_REQUEST,
            error_message=(
                "Topic IDs are not supported on the server."
                if topic.name is None
                else "Topic name and topic ID can not both be specified."
            ),
        )
        async for topic in paced(request.body.topics)
        if topic.topic_id is not None
    ]


def _result(request: Request, result: TopicResult) -> Answer:
    error = result.error
    if error is ErrorCode.TOPIC_DELETION_DISABLED and request.version < FIRST_WITH_DISABLED:
        error = ErrorCode.INVALID_REQUEST
    return request.answer(
        "DeletableTopicResult",
        name=result.name,
        topic_id=None,
        error_code=error,
        error_message=result.message,
    )
