"""CreateTopics (19): pass the topics to the controller, and wait until their leaders are known here.

Sources: ``KafkaApis.handleCreateTopicsRequest``, ``ZkAdminManager.createTopics`` and
``DelayedCreatePartitions`` of release 2.8.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.server.handlers.delayed_topics import await_leaders
from barnabas.broker.server.portions import RequestDeadline, submit
from barnabas.broker.wire.frames import NO_THROTTLE, Request, milliseconds
from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.configs import MAX_SETTINGS
from barnabas.cluster.model.commands.topics import MAX_PARTITIONS, CreateTopics, NewTopic, TopicResult
from barnabas.cluster.model.configs.described import describe_topic
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.runtime.turn import freed_in_turns, paced

_CONFIGS_SINCE = 5


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return the result of each topic, in the order of the request."""
    body = request.body
    validate_only = getattr(body, "validate_only", False)  # since version 1
    deadline = RequestDeadline(milliseconds(body.timeout))
    contradictions = await _contradictions(body.topics)
    wanted = [_new_topic(topic) async for topic in paced(body.topics) if topic.name not in contradictions]
    results: dict[str, TopicResult] = {}
    async for portion, outcome in submit(
        context.controller, wanted, lambda some: CreateTopics(tuple(some), validate_only), deadline
    ):
        if isinstance(outcome, Refused) and outcome.error is ErrorCode.NOT_CONTROLLER:
            # Kafka checks for the controller before it checks the topics.
            contradictions = {}
            results = await _all_refused(body.topics, outcome)
            break
        results |= (
            await _all_refused(portion, outcome)
            if isinstance(outcome, Refused)
            else {result.name: result for result in outcome.topics}
        )
    results |= contradictions
    if not validate_only:
        results |= await await_leaders(context, results.values(), deadline)
    answers: dict[str, Answer] = {}
    described = _Described(context, request)
    async for topic in paced(body.topics):
        if topic.name not in answers:
            answers[topic.name] = _result(described, request, topic, results[topic.name])
    await freed_in_turns(wanted, results, contradictions)
    return request.answer("CreateTopicsResponse", throttle_time=NO_THROTTLE, topics=tuple(answers.values()))


async def _all_refused(topics: Iterable[Any], refusal: Refused) -> dict[str, TopicResult]:
    names = [topic.name async for topic in paced(topics)]
    return {name: TopicResult(name, refusal.error, refusal.message) for name in names}


async def _contradictions(topics: tuple[Any, ...]) -> dict[str, TopicResult]:
    """Return the topics that are refused without the controller, by name."""
    times: Counter[str] = Counter()
    async for topic in paced(topics):
        times[topic.name] += 1
    refused = {}
    async for topic in paced(topics):
        error, message = _contradiction(topic, times[topic.name])
        if error is not ErrorCode.NONE:
            refused[topic.name] = TopicResult(topic.name, error, message)
    return refused


def _contradiction(topic: Any, times: int) -> tuple[ErrorCode, str | None]:
    """Return why a topic that is named ``times`` times is refused here; ``NONE`` if it is not."""
    name, assigned, settings = topic.name, len(topic.assignments), len(topic.configs)
    if times > 1:
        return ErrorCode.INVALID_REQUEST, f"Topic '{name}' is named {times} times; expected once"
    # An excessive number is refused before anything reads all of it.
    if settings > MAX_SETTINGS:
        message = f"Topic '{name}' has {settings} settings; expected {MAX_SETTINGS} at most"
        return ErrorCode.INVALID_CONFIG, message
    null_configs = [config.name for config in topic.configs if config.value is None]
    if null_configs:
        message = f"The settings {', '.join(null_configs)} of topic '{name}' are null; expected text"
        return ErrorCode.INVALID_REQUEST, message
    if assigned > MAX_PARTITIONS:
        message = f"Number of partitions must not be larger than {MAX_PARTITIONS}, not {assigned}."
        return ErrorCode.INVALID_PARTITIONS, message
    if len({by_hand.partition_index for by_hand in topic.assignments}) < assigned:
        message = f"The assignment of topic '{name}' names a partition twice"
        return ErrorCode.INVALID_REPLICA_ASSIGNMENT, message
    return ErrorCode.NONE, None


def _new_topic(topic: Any) -> NewTopic:
    return NewTopic(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        {
            by_hand.partition_index: tuple(BrokerId(broker) for broker in by_hand.broker_ids)
            for by_hand in topic.assignments
        },
        {config.name: config.value for config in topic.configs},
    )


class _Described:
    """The settings of the topics of one request; topics with the same settings share their answers."""

    def __init__(self, context: ServerContext, request: Request) -> None:
        self._context = context
        self._request = request
        self._by_settings: dict[frozenset[tuple[str, str]], tuple[Answer, ...]] = {}

    def configs(self, topic: Any) -> tuple[Answer, ...]:
        """Return the settings of a created topic, with the sources of their values (KIP-525)."""
        if self._request.version < _CONFIGS_SINCE:
            return ()
        own = {config.name: config.value for config in topic.configs}
        settings = frozenset(own.items())
        if settings not in self._by_settings:
            self._by_settings[settings] = tuple(
                self._request.answer(
                    "CreatableTopicConfigs",
                    name=each.name,
                    value=each.value,
                    read_only=each.read_only,
                    config_source=each.source,
                    is_sensitive=each.is_sensitive,
                )
                for each in describe_topic(self._context.broker_settings(), own)
            )
        return self._by_settings[settings]


def _result(described: _Described, request: Request, topic: Any, result: TopicResult) -> Answer:
    return request.answer(
        "CreatableTopicResult",
        name=result.name,
        topic_id=None,
        error_code=result.error,
        error_message=result.message,
        num_partitions=result.partitions,
        replication_factor=result.replication_factor,
        # Never null: Java's admin client and Kafka Connect would crash.
        configs=described.configs(topic) if result.error is ErrorCode.NONE else (),
    )
