"""What a request handler is given: the parts of the broker it may use, and the request it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from barnabas.broker.core.metadata_cache import MetadataCache
from barnabas.broker.replicas.interface import Appends, Deletes, LogDirAdmin, Reads
from barnabas.broker.server.memory import AnswerMemory, ArrivingMemory, RequestMemory
from barnabas.broker.server.metadata_purgatories import MetadataPurgatories
from barnabas.broker.server.request_meter import RequestMeter
from barnabas.broker.wire.frames import Body, Request
from barnabas.cluster.model.commands.command import ControllerPort
from barnabas.cluster.model.configs_described import BrokerSettings
from barnabas.cluster.model.ids import BrokerId, ProducerId
from barnabas.cluster.model.settings import setting


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The settings that client listeners and handlers read; times in milliseconds, sizes in bytes."""

    auto_create_topics: bool = setting("auto.create.topics.enable")
    fetch_max_bytes: int = setting("fetch.max.bytes")
    request_max_bytes: int = setting("socket.request.max.bytes")
    queued_max_request_bytes: int = setting("queued.max.request.bytes")
    max_idle_ms: int = setting("connections.max.idle.ms")
    send_buffer_bytes: int = setting("socket.send.buffer.bytes")
    receive_buffer_bytes: int = setting("socket.receive.buffer.bytes")
    request_timeout_ms: int = setting("request.timeout.ms")


class CloseConnectionError(Exception):
    """The request cannot be answered; its connection is closed, and the log says why.

    Attributes:
        reason: Why, in words of ours alone.
        details: What of the request shows it.
    """

    def __init__(self, reason: str, **details: object) -> None:
        super().__init__(reason)
        self.reason = reason
        self.details = details


class ProducerIds(Protocol):
    """Where producer ids come from."""

    async def next_id(self) -> ProducerId:
        """Return an id that no producer of the cluster was ever given.

        Raises:
            ProducerIdsUnavailableError: No block of ids could be taken now; the client may try again.
        """
        ...


class TopicOverrides(Protocol):
    """Where the settings that topics set themselves are read."""

    async def overrides(self, topics: Collection[str]) -> Mapping[str, Mapping[str, str]]:
        """What ``/config/topics`` holds now of those of these topics that have any settings.

        Raises:
            ZooKeeperError: They cannot be read now.
        """
        ...


@dataclass(frozen=True, slots=True)
class ServerContext:
    """The broker as its request handlers see it; built once by the node.

    Attributes:
        broker_id: This broker.
        cluster_id: The content of ``/cluster/id``.
        settings: The settings of the client port.
        metadata: What the controller last told of topics and brokers.
        purgatories: Where answers wait for a change of ``metadata``.
        appends: The produce path of the replicas.
        deletes: The path of DeleteRecords.
        reads: The consumers' paths of the replicas.
        log_dirs: The log directories.
        controller: The controller in this process: ``Refused`` with ``NOT_CONTROLLER`` where another
            broker is it.
        any_controller: The active controller wherever it runs; automatic topic creation goes through it.
        producer_ids: Where producer ids come from.
        meter: Where requests are counted.
        topic_overrides: What topics set themselves.
        broker_settings: Gives the settings that this broker runs by now, for those who ask for them.
        requests: Counts the memory of long requests.
        answers: Counts the memory of answers.
        building: Held by whom makes a long answer.
    """

    broker_id: BrokerId
    cluster_id: str
    settings: ServerSettings
    metadata: MetadataCache
    purgatories: MetadataPurgatories
    appends: Appends
    deletes: Deletes
    reads: Reads
    log_dirs: LogDirAdmin
    controller: ControllerPort
    any_controller: ControllerPort
    producer_ids: ProducerIds
    meter: RequestMeter
    topic_overrides: TopicOverrides
    broker_settings: Callable[[], BrokerSettings]
    requests: RequestMemory = field(init=False)
    answers: AnswerMemory = field(default_factory=AnswerMemory)
    arriving: ArrivingMemory = field(default_factory=ArrivingMemory)
    building: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_BUILDINGS))

    def __post_init__(self) -> None:
        object.__setattr__(self, "requests", RequestMemory(self.settings.queued_max_request_bytes))

    @property
    def max_connections(self) -> int:
        """``max.connections`` as it is now; one more waits to be accepted."""
        return int(str(self.broker_settings().values["max.connections"]))


Answer = Body | None
"""A response entity of kio, or None if the request gets no answer."""


@dataclass(frozen=True, slots=True)
class Preparing:
    """A request that is not carried out yet: no other of its connection starts before.

    Attributes:
        work: Carries it out; gives the answer, or what the answer is waited for with.
    """

    work: Coroutine[None, None, Answer | Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Building:
    """A long answer that is yet to be made, when only few others are: each is many times its bytes meanwhile.

    Attributes:
        work: Makes it.
    """

    work: Callable[[], Coroutine[None, None, Answer]]


MAX_BUILDINGS = 2
"""How many long answers are made at a time."""

Handler = Callable[[ServerContext, Request], Answer | Awaitable[Answer | Building] | Preparing]
"""Answers the requests of one API; ``broker.server.handlers`` says by which rules."""
