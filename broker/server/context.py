"""The context of request handlers: the parts of the broker that they use."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from barnabas.broker.authorizer.authorizer import AclAuthorizer
from barnabas.broker.coordinator.coordinator import GroupCoordinator
from barnabas.broker.core.metadata_cache import MetadataCache
from barnabas.broker.core.replication.fetch_sessions import LARGEST_ID, FetchSessionCache
from barnabas.broker.replicas.append import Appender
from barnabas.broker.replicas.delete_records import RecordDeleter
from barnabas.broker.replicas.interface import FetchPartition
from barnabas.broker.replicas.log_dir_admin import LogDirectories
from barnabas.broker.replicas.read import Reader
from barnabas.broker.server.memory import MAX_STARTED_BYTES, AnswerMemory, ArrivingMemory, RequestMemory
from barnabas.broker.server.metadata_purgatories import MetadataPurgatories
from barnabas.broker.server.quotas import ClientQuotas
from barnabas.broker.server.request_meter import RequestMeter
from barnabas.broker.wire.frames import Body, Request
from barnabas.cluster.model.client_quotas import QuotaEntity
from barnabas.cluster.model.commands.command import ControllerPort
from barnabas.cluster.model.configs.described import BrokerSettings
from barnabas.cluster.model.configs.settings import setting
from barnabas.cluster.model.ids import BrokerId, Offset, ProducerId, TopicPartition
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.stores.configs import ResourceConfigs


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The settings that client listeners and handlers read; times in milliseconds, sizes in bytes."""

    auto_create_topics: bool = setting("auto.create.topics.enable")
    fetch_max_bytes: int = setting("fetch.max.bytes")
    fetch_session_slots: int = setting("max.incremental.fetch.session.cache.slots")
    offset_metadata_max_bytes: int = setting("offset.metadata.max.bytes")
    request_max_bytes: int = setting("socket.request.max.bytes")
    queued_max_request_bytes: int = setting("queued.max.request.bytes")
    quota_windows: int = setting("quota.window.num")
    quota_window_s: int = setting("quota.window.size.seconds")
    quota_producer_default: int = setting("quota.producer.default")
    quota_consumer_default: int = setting("quota.consumer.default")
    max_idle_ms: int = setting("connections.max.idle.ms")
    send_buffer_bytes: int = setting("socket.send.buffer.bytes")
    receive_buffer_bytes: int = setting("socket.receive.buffer.bytes")
    request_timeout_ms: int = setting("request.timeout.ms")
    failed_authentication_delay_ms: int = setting("connection.failed.authentication.delay.ms")
    sasl_max_receive_bytes: int = setting("sasl.server.max.receive.size")


class CloseConnectionError(Exception):
    """An error of a request that cannot be answered; its connection is closed, and the log says why.

    Attributes:
        reason: A constant text.
        details: The request's values for the log line.
    """

    def __init__(self, reason: str, **details: object) -> None:
        super().__init__(reason)
        self.reason = reason
        self.details = details


class ProducerIds(Protocol):
    """The source of producer ids."""

    async def next_id(self) -> ProducerId:
        """Return a producer id that was never used in the cluster.

        Raises:
            ProducerIdsUnavailableError: No block of ids could be reserved; the client may try again.
        """
        ...


class TopicOverrides(Protocol):
    """The reader of settings in ZooKeeper that topics override."""

    async def overrides(self, topics: Collection[str]) -> Mapping[str, Mapping[str, str]]:
        """Return the settings in ``/config/topics`` of those of these topics that have any.

        Raises:
            ZooKeeperError: They cannot be read now.
        """
        ...


class QuotaStore(Protocol):
    """The place where quotas are kept (``cluster.zk.store_quotas.QuotaStore``)."""

    async def read_all(self) -> dict[QuotaEntity, ResourceConfigs]:
        """Read the settings of every entity."""
        ...

    async def read(self, entities: Iterable[QuotaEntity]) -> dict[QuotaEntity, ResourceConfigs]:
        """Read the settings of some entities."""
        ...

    async def write(self, entity: QuotaEntity, own: Mapping[str, str], version: int | None) -> None:
        """Write all settings of an entity if they still have this version, and a notification."""
        ...


class ConsumerOffsetStore(Protocol):
    """The place where OffsetCommit 0 keeps offsets (``cluster.zk.store_consumer_offsets``)."""

    async def read(
        self, group_id: str, partitions: Sequence[TopicPartition]
    ) -> list[Offset | ZnodeDecodeError | None]:
        """Read the offsets of a group in the order of ``partitions``; None where nothing is committed."""
        ...

    async def write(self, group_id: str, partition: TopicPartition, offset: Offset) -> None:
        """Set an offset."""
        ...


@dataclass(frozen=True, slots=True)
class ServerContext:
    """The parts of the broker that request handlers use; built once by the node.

    Attributes:
        broker_id: This broker.
        cluster_id: The content of ``/cluster/id``.
        settings: The settings of the client port.
        metadata: The copy of the cluster's metadata.
        purgatories: The purgatories of answers that wait for a change of ``metadata``.
        appends: The produce path of the replicas.
        deletes: The path of DeleteRecords.
        reads: The read paths for consumers.
        log_dirs: The log directories.
        controller: The controller in this process: ``Refused`` with ``NOT_CONTROLLER`` if another broker has
            the role.
        any_controller: The active controller, wherever it runs; automatic topic creation uses it.
        producer_ids: The source of producer ids.
        meter: Counts requests.
        topic_overrides: The settings that topics override.
        quota_store: Returns the store of quotas in the current ZooKeeper session.
        consumer_offsets: Returns the store of offsets in ZooKeeper, in the current session.
        broker_settings: Returns the current settings of this broker.
        groups: The group coordinator.
        await_propagation: Waits until all live brokers have answered the requests of the controller in this
            process, at most so many seconds.
        requests: Counts the memory of long requests.
        started: Counts the memory of long requests that have started, unless ``requests`` is bounded.
        answers: Counts the memory of answers.
        building: Held while a long answer is built and encoded.
        quotas: The quotas of clients and how much of them they use.
        authorizer: Decides what clients may do; None if everybody may do everything.
        fetch_sessions: The incremental fetch sessions of clients.
        refusal_of_stores: Returns why this broker cannot have these settings in ZooKeeper, because of stores
            of TLS, or None; it reads files. None without TLS.
    """

    broker_id: BrokerId
    cluster_id: str
    settings: ServerSettings
    metadata: MetadataCache
    purgatories: MetadataPurgatories
    appends: Appender
    deletes: RecordDeleter
    reads: Reader
    log_dirs: LogDirectories
    controller: ControllerPort
    any_controller: ControllerPort
    producer_ids: ProducerIds
    meter: RequestMeter
    topic_overrides: TopicOverrides
    broker_settings: Callable[[], BrokerSettings]
    groups: GroupCoordinator
    quotas: ClientQuotas
    quota_store: Callable[[], QuotaStore]
    consumer_offsets: Callable[[], ConsumerOffsetStore]
    await_propagation: Callable[[float], Awaitable[None]]
    authorizer: AclAuthorizer | None = None
    refusal_of_stores: Callable[[Mapping[str, str]], str | None] | None = None
    requests: RequestMemory = field(init=False)
    started: RequestMemory = field(default_factory=lambda: RequestMemory(MAX_STARTED_BYTES))
    answers: AnswerMemory = field(default_factory=AnswerMemory)
    arriving: ArrivingMemory = field(default_factory=ArrivingMemory)
    fetch_sessions: FetchSessionCache[FetchPartition] = field(init=False)
    building: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_BUILDINGS))

    def __post_init__(self) -> None:
        object.__setattr__(self, "requests", RequestMemory(self.settings.queued_max_request_bytes))
        sessions = FetchSessionCache[FetchPartition](self.settings.fetch_session_slots, _session_id)
        object.__setattr__(self, "fetch_sessions", sessions)


def _session_id() -> int:
    """A number that nobody can guess: a client that names a session may change it."""
    return 1 + secrets.randbelow(LARGEST_ID - 1)


Answer = Body
"""A response entity of kio, or None if the request gets no answer."""


Handler = Callable[[ServerContext, Request], Coroutine[Any, Any, Answer]]
"""A handler of the requests of one API; the rules are in ``broker.server.handlers``."""

MAX_BUILDINGS = 2
"""The number of long answers that are built at a time."""
