"""Gates of the APIs that name topics; topics that the client may not use are refused one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from barnabas.broker.server.access import access_of
from barnabas.broker.server.context import Answer, Handler, ServerContext
from barnabas.broker.wire.frames import Body, Request
from barnabas.cluster.model.acls import AclOperation, ResourceType
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.runtime.turn import paced

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


@dataclass(frozen=True, slots=True)
class Refusals:
    """The part of an answer about topics that are refused, an error for each of their partitions.

    Attributes:
        asked: The field of the request that names topics; their partitions are in its field ``partitions``.
        answered: The field of the answer about topics.
        topic: The class of a topic in the answer, and the field of its name.
        partitions: The field of its partitions.
        partition: The class of a partition in the answer, and the field of its number.
        numbers: The field of partitions' numbers in the request; None if these are numbers themselves.
        others: The other fields of a partition in the answer.
        names: The field of the topic's name in the request.
        listed: The field of a topic's partitions in the request.
    """

    asked: str
    answered: str
    topic: tuple[str, str]
    partition: tuple[str, str]
    partitions: str = "partitions"
    numbers: str | None = "partition_index"
    others: tuple[tuple[str, Any], ...] = ()
    names: str = "name"
    listed: str = "partitions"

    def topics_of(self, request: Request) -> tuple[Any, ...]:
        """Return the topics in a request; none if it asks for all."""
        return getattr(request.body, self.asked) or ()

    def names_of(self, request: Request) -> Iterator[str]:
        """Yield the names of topics in a request, each as often as it names one of their partitions."""
        for topic in self.topics_of(request):
            for _ in getattr(topic, self.listed) or (None,):
                yield getattr(topic, self.names)

    async def without(self, request: Request, refused: frozenset[str]) -> Request:
        """Return a request without these topics."""
        kept = [each async for each in paced(self.topics_of(request)) if self._name(each) not in refused]
        return request.with_body(**{self.asked: tuple(kept)})

    async def of(
        self, request: Request, refused: frozenset[str] | None, error: ErrorCode = DENIED
    ) -> tuple[Body, ...]:
        """Return the answer about refused topics of a request; None refuses all."""
        asked = self.topics_of(request)
        return tuple(
            [
                await self._refused(request, topic, error)
                async for topic in paced(asked)
                if refused is None or self._name(topic) in refused
            ]
        )

    def more(self, answer: Body, refusals: Iterable[Body]) -> Body:
        """Return an answer with the refused topics after the others."""
        return replace(answer, **{self.answered: (*getattr(answer, self.answered), *refusals)})

    def _name(self, topic: Any) -> str:
        return str(getattr(topic, self.names))

    async def _refused(self, request: Request, topic: Any, error: ErrorCode) -> Body:
        kind, name = self.topic
        partition, index = self.partition
        numbers = getattr(topic, self.listed)
        partitions = [
            request.answer(
                partition,
                **{index: each if self.numbers is None else getattr(each, self.numbers)},
                error_code=error,
                **dict(self.others),
            )
            async for each in paced(numbers)
        ]
        return request.answer(kind, **{name: self._name(topic), self.partitions: tuple(partitions)})


@dataclass(frozen=True, slots=True)
class EachTopic:
    """A gate that needs one operation on each topic.

    Attributes:
        operation: The operation.
        refusals: The answer about topics without it.
        or_cluster: An operation on the cluster that is enough for all topics.
    """

    operation: AclOperation
    refusals: Refusals
    or_cluster: AclOperation | None = None

    async def __call__(self, context: ServerContext, request: Request, handler: Handler) -> Answer:
        """Pass on the allowed topics and refuse the others."""
        access = access_of(context, request)
        if self.or_cluster is not None and access.cluster(self.or_cluster, log_denied=False):
            return await handler(context, request)
        names = self.refusals.names_of(request)
        denied = await access.denied(self.operation, ResourceType.TOPIC, names)
        if not denied:
            return await handler(context, request)
        answer = await handler(context, await self.refusals.without(request, denied))
        if getattr(answer, "error_code", ErrorCode.NONE) != ErrorCode.NONE:
            return answer  # an error of the whole request has no topics
        return self.refusals.more(answer, await self.refusals.of(request, denied))


_NO_OFFSET = -1

LIST_OFFSETS = Refusals(
    "topics",
    "topics",
    ("ListOffsetsTopicResponse", "name"),
    ("ListOffsetsPartitionResponse", "partition_index"),
    others=(
        ("old_style_offsets", ()),
        ("timestamp", _NO_OFFSET),
        ("offset", _NO_OFFSET),
        ("leader_epoch", _NO_OFFSET),
    ),
)

DELETE_RECORDS = Refusals(
    "topics",
    "topics",
    ("DeleteRecordsTopicResult", "name"),
    ("DeleteRecordsPartitionResult", "partition_index"),
    others=(("low_watermark", _NO_OFFSET),),
)

OFFSET_FOR_LEADER_EPOCH = Refusals(
    "topics",
    "topics",
    ("OffsetForLeaderTopicResult", "topic"),
    ("EpochEndOffset", "partition"),
    numbers="partition",
    others=(("leader_epoch", _NO_OFFSET), ("end_offset", _NO_OFFSET)),
    names="topic",
)

DESCRIBE_PRODUCERS = Refusals(
    "topics",
    "topics",
    ("TopicResponse", "name"),
    ("PartitionResponse", "partition_index"),
    numbers=None,
    others=(("active_producers", ()),),
    listed="partition_indexes",
)

OFFSET_COMMIT = Refusals(
    "topics",
    "topics",
    ("OffsetCommitResponseTopic", "name"),
    ("OffsetCommitResponsePartition", "partition_index"),
)

OFFSET_FETCH = Refusals(
    "topics",
    "topics",
    ("OffsetFetchResponseTopic", "name"),
    ("OffsetFetchResponsePartition", "partition_index"),
    numbers=None,
    others=(("committed_offset", _NO_OFFSET), ("committed_leader_epoch", _NO_OFFSET), ("metadata", "")),
    listed="partition_indexes",
)

OFFSET_DELETE = Refusals(
    "topics",
    "topics",
    ("OffsetDeleteResponseTopic", "name"),
    ("OffsetDeleteResponsePartition", "partition_index"),
)

PRODUCE = Refusals(
    "topic_data",
    "responses",
    ("TopicProduceResponse", "name"),
    ("PartitionProduceResponse", "index"),
    partitions="partition_responses",
    numbers="index",
    others=(("base_offset", _NO_OFFSET), ("record_errors", ())),
    listed="partition_data",
)
