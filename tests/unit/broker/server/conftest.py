"""A broker whose replicas and controller do what the test tells them, and requests for its handlers."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.broker.coordinator.offsets_topic import OffsetsTopic
from barnabas.broker.core.group.settings import GroupSettings
from barnabas.broker.core.metadata_cache import MetadataCache
from barnabas.broker.core.quotas.connection_quotas import ConnectionLimits
from barnabas.broker.core.sasl.authentication import Mechanism
from barnabas.broker.core.sasl.plain import PlainSaslServer
from barnabas.broker.replicas.interface import Appended, Deleted, EpochEnd, Fetched, ListedOffset
from barnabas.broker.server.context import ServerContext, ServerSettings
from barnabas.broker.server.metadata_purgatories import MetadataPurgatories
from barnabas.broker.server.network.acceptor import ConnectionQuotas
from barnabas.broker.server.network.clients import ClientListener
from barnabas.broker.server.quotas import ClientQuotas
from barnabas.broker.server.request_meter import RequestMeter
from barnabas.broker.wire.apis import APIS
from barnabas.broker.wire.frames import Request
from barnabas.broker.wire.schemas import REQUEST, load_payload_module, load_schema
from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.commands.topics import CreateTopicsResult, TopicResult
from barnabas.cluster.model.configs.broker import BROKER_CONFIGS
from barnabas.cluster.model.configs.declarations import parse_given, with_defaults
from barnabas.cluster.model.configs.described import BrokerSettings
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch, LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import UpdateMetadataPartition, UpdateMetadataRequest
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.cluster.zk.stores.configs import ResourceConfigs
from tests.unit.broker.server.raw_client import Client
from tests.unit.broker.server.sasl_client import Raw
from tests.unit.broker.server.turns import Turns


class FakeAppends:
    """Answers each partition with what stands in ``outcomes``, else success; at once, or by ``release``."""

    def __init__(self) -> None:
        self.calls: list[tuple[dict[TopicPartition, Any], dict[str, Any]]] = []
        self.outcomes: dict[TopicPartition, Appended] = {}
        self.hold = False
        self.held: list[Callable[[], None]] = []
        self.preparing: list[Any] = []

    def prepare(self, batches: Any) -> Any:
        prepared = self.preparing.pop(0) if self.preparing else None
        return None if prepared is None else prepared(batches)

    def append(self, batches: Any, **options: Any) -> asyncio.Future[Any]:
        self.calls.append((dict(batches), options))
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        results = {
            tp: self.outcomes.get(tp, Appended(ErrorCode.NONE, len(self.calls) - 1, log_start_offset=0))
            for tp in batches
        }
        if self.hold:
            self.held.append(lambda: answer.set_result(results))
        else:
            answer.set_result(results)
        return answer

    def release(self, number: int) -> None:
        self.held[number]()


class FakeDeletes:
    """Answers each partition with what stands in ``outcomes``."""

    def __init__(self) -> None:
        self.calls: list[tuple[dict[TopicPartition, int], int]] = []
        self.outcomes: dict[TopicPartition, Deleted] = {}

    def delete(self, offsets: Any, timeout_ms: int) -> asyncio.Future[Any]:
        self.calls.append((dict(offsets), timeout_ms))
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        answer.set_result({tp: self.outcomes[tp] for tp in offsets})
        return answer


class FakeReads:
    """Answers each partition with what stands in its tables."""

    def __init__(self) -> None:
        self.calls: list[tuple[dict[TopicPartition, Any], dict[str, Any]]] = []
        self.fetched: dict[TopicPartition, Fetched] = {}
        self.offsets: dict[tuple[TopicPartition, int], ListedOffset] = {}
        self.ends: dict[tuple[TopicPartition, int], EpochEnd] = {}
        self.old_offsets: dict[tuple[TopicPartition, int, int, int], tuple[int, ...]] = {}
        self.known_producers: dict[TopicPartition, Any] = {}
        self.epochs: list[int] = []
        self.held: asyncio.Future[Any] | None = None
        self.hold = False
        self.portions: list[tuple[int, int, bool]] = []

    async def wait(self, partitions: Any, **options: Any) -> None:
        self.calls.append((dict(partitions), options))
        if self.hold and partitions:
            self.held = asyncio.get_running_loop().create_future()
            await self.held

    def read(self, partitions: Any, max_bytes: int, *, at_least_one: bool = True) -> Any:
        self.portions.append((len(partitions), max_bytes, at_least_one))
        return {tp: self.fetched.get(tp, Fetched(ErrorCode.NONE)) for tp in partitions}

    async def list_offset(
        self,
        topic_partition: Any,
        timestamp: int,
        current_leader_epoch: int = -1,
        *,
        read_committed: bool = False,
        replica_id: int = -1,
    ) -> ListedOffset:
        self.replica_id = replica_id
        self.epochs.append(current_leader_epoch)
        self.read_committed = read_committed
        unknown = ListedOffset(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return self.offsets.get((topic_partition, timestamp), unknown)

    def offsets_before(self, topic_partition: Any, *asked: int) -> Any:
        return self.old_offsets.get((topic_partition, *asked), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def end_offset_for(
        self, topic_partition: Any, leader_epoch: int, current_leader_epoch: int = -1
    ) -> EpochEnd:
        self.epochs.append(current_leader_epoch)
        return self.ends.get((topic_partition, leader_epoch), EpochEnd(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))

    def producers(self, topic_partition: TopicPartition) -> Any:
        return self.known_producers[topic_partition]


class FakeLogDirs:
    def __init__(self) -> None:
        self.described: list[Any] = []

    def describe(self) -> Any:
        return self.described

    def alter(self, topic_partition: TopicPartition, path: str) -> ErrorCode:
        return ErrorCode.LOG_DIR_NOT_FOUND


class FakeQuotaStore:
    """``/config`` of users and clients, by entity."""

    def __init__(self) -> None:
        self.settings: dict[Any, ResourceConfigs] = {}
        self.error: Exception | None = None
        self.conflicts: list[Exception] = []

    async def read_all(self) -> Any:
        return await self.read(self.settings)

    async def read(self, entities: Any) -> Any:
        if self.error is not None:
            raise self.error
        return {each: self.settings.get(each, ResourceConfigs({}, None)) for each in entities}

    async def write(self, entity: Any, own: Any, version: int | None) -> None:
        if self.conflicts:
            raise self.conflicts.pop()
        self.settings[entity] = ResourceConfigs(own, 0 if version is None else version + 1)


class FakeConsumerOffsets:
    """``/consumers``: the text of each offset, by group and partition."""

    def __init__(self) -> None:
        self.offsets: dict[Any, Any] = {}
        self.error: Exception | None = None
        self.portions: list[int] = []

    async def read(self, group_id: str, partitions: Any) -> Any:
        self.portions.append(len(partitions))
        if self.error is not None:
            raise self.error
        return [self.offsets.get((group_id, each)) for each in partitions]

    async def write(self, group_id: str, partition: Any, offset: int) -> None:
        if self.error is not None:
            raise self.error
        self.offsets[group_id, partition] = offset


class FakeController:
    """Remembers what it was asked; says ``answer``, else that everything was created."""

    def __init__(self) -> None:
        self.commands: list[Any] = []
        self.answer: Any = None
        self.on_submit: Callable[[Any], None] = lambda command: None

    async def submit(self, command: Any, timeout_ms: int) -> Any:
        self.commands.append((command, timeout_ms))
        self.on_submit(command)
        if self.answer is not None:
            return self.answer
        return CreateTopicsResult(
            tuple(TopicResult(topic.name, ErrorCode.NONE, None, 1, 1) for topic in command.topics)
        )


def settings_of(given: dict[str, str]) -> BrokerSettings:
    """The settings of a broker that was given these and where ZooKeeper is."""
    given = {"zookeeper.connect": "z", **given}
    values = with_defaults(BROKER_CONFIGS, parse_given(BROKER_CONFIGS, given)[0])
    return BrokerSettings(values, given)


class FakeProducerIds:
    def __init__(self) -> None:
        self.next = 4000
        self.error: Exception | None = None

    async def next_id(self) -> int:
        if self.error is not None:
            raise self.error
        self.next += 1
        return self.next - 1


class FakeOverrides:
    """Topics' own settings by topic; every reading is remembered."""

    def __init__(self) -> None:
        self.settings: dict[str, dict[str, str]] = {}
        self.asked: list[list[str]] = []
        self.error: Exception | None = None

    async def overrides(self, topics: Any) -> Any:
        self.asked.append(list(topics))
        if self.error is not None:
            raise self.error
        return {topic: self.settings[topic] for topic in topics if topic in self.settings}


class FakeOffsetsTopic(OffsetsTopic):
    """The topic of groups as the metadata shows it; creations are counted."""

    def __init__(self, metadata: MetadataCache) -> None:
        super().__init__(GroupSettings(), metadata, None, None)  # type: ignore[arg-type]
        self.created = 0

    def create(self) -> None:
        self.created += 1


class FakeGroupOffsets:
    """Gives ``answer`` to everything, and remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.answer: Any = None

    async def commit(self, call: Any, commits: Any) -> Any:
        self.asked.append((call, dict(commits)))
        return self.answer

    async def fetch(self, group_id: str, wanted: Any, *, require_stable: bool) -> Any:
        self.asked.append((group_id, wanted, require_stable))
        return self.answer

    async def delete(self, group_id: str, wanted: Any) -> Any:
        self.asked.append((group_id, wanted))
        return self.answer


class FakeGroups:
    """Gives ``answer`` to everything but descriptions, and remembers what was asked."""

    def __init__(self, metadata: MetadataCache) -> None:
        self.topic, self.offsets = FakeOffsetsTopic(metadata), FakeGroupOffsets()
        self.asked: list[Any] = []
        self.answer: Any = None
        self.described: dict[str, Any] = {}
        self.count = 1

    async def join(self, request: Any) -> Any:
        self.asked.append(request)
        return self.answer

    sync = list = delete = join

    def heartbeat(self, call: Any) -> Any:
        self.asked.append(call)
        return self.answer

    async def leave(self, group_id: str, members: Any) -> Any:
        self.asked.append((group_id, members))
        return self.answer

    def describe(self, group_id: str) -> Any:
        return self.described[group_id]


class FakeBroker:
    """The parts of a broker that the handlers see, and short ways to fill them."""

    def __init__(self) -> None:
        self.appends, self.deletes, self.reads = FakeAppends(), FakeDeletes(), FakeReads()
        self.log_dirs = FakeLogDirs()
        self.quotas: dict[Any, dict[str, float]] = {}
        self.quota_store = FakeQuotaStore()
        self.consumer_offsets = FakeConsumerOffsets()
        self.controller, self.any_controller = FakeController(), FakeController()
        self.producer_ids = FakeProducerIds()
        self.metadata, self.purgatories = MetadataCache(), MetadataPurgatories()
        self.groups = FakeGroups(self.metadata)
        self.settings = ServerSettings()
        self.live: tuple[Broker, ...] = ()
        self.meter = RequestMeter(Metrics())
        self.topic_overrides = FakeOverrides()
        self.broker_settings = settings_of({})
        self.propagations: list[float] = []

    async def await_propagation(self, timeout_s: float) -> None:
        self.propagations.append(timeout_s)

    @property
    def context(self) -> ServerContext:
        return ServerContext(
            BrokerId(1),
            "a-cluster",
            self.settings,
            self.metadata,
            self.purgatories,
            self.appends,
            self.deletes,
            self.reads,
            self.log_dirs,
            self.controller,
            self.any_controller,
            self.producer_ids,
            self.meter,
            self.topic_overrides,
            lambda: self.broker_settings,
            groups=self.groups,
            quotas=ClientQuotas(self.quotas, 11, 1),
            quota_store=lambda: self.quota_store,
            consumer_offsets=lambda: self.consumer_offsets,
            await_propagation=self.await_propagation,
        )

    def brokers(self, *numbers: int, listeners: tuple[str, ...] = ("PLAINTEXT", "OUTSIDE")) -> None:
        """These brokers are live; each listener has a port range of its own."""
        self.live = tuple(
            Broker(
                BrokerId(number),
                BrokerEpoch(number),
                tuple(
                    Endpoint(name, f"{name.lower()}-{number}", 1000 * place + number)
                    for place, name in enumerate(listeners, 1)
                ),
                rack=f"rack-{number}",
            )
            for number in numbers
        )
        self._apply(())

    def topic(
        self, name: str, *leaders: int, replicas: tuple[int, ...] = (1, 2), offline: tuple[int, ...] = ()
    ) -> None:
        """A topic with a partition for each leader; -1 has none."""
        self._apply(
            tuple(
                UpdateMetadataPartition(
                    TopicPartition(name, number),
                    PartitionState(
                        LeaderAndIsr(BrokerId(leader), LeaderEpoch(7), tuple(map(BrokerId, replicas))),
                        ControllerEpoch(1),
                    ),
                    tuple(map(BrokerId, replicas)),
                    tuple(map(BrokerId, offline)),
                )
                for number, leader in enumerate(leaders)
            )
        )

    def _apply(self, partitions: tuple[UpdateMetadataPartition, ...]) -> None:
        change = self.metadata.apply(
            UpdateMetadataRequest(BrokerId(1), ControllerEpoch(1), BrokerEpoch(1), partitions, self.live)
        )
        self.purgatories.changed(change)


@pytest.fixture
async def turns():
    """What is done in each turn of the event loop."""
    return Turns()


@pytest.fixture
def broker() -> FakeBroker:
    fake = FakeBroker()
    fake.brokers(1, 2)
    return fake


class Schema:
    """The classes of one request version by name, such as ``schema.FetchTopic(...)``."""

    def __init__(self, key: int, version: int) -> None:
        self.request = load_schema(key, version, REQUEST)
        self._module = load_payload_module(key, version, REQUEST)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


@pytest.fixture
def schema() -> Callable[[int, int], Schema]:
    return Schema


@pytest.fixture
def request_of() -> Callable[..., Request]:
    def build(
        key: int, version: int, body: Any, *, client_id: str = "test", listener: str = "PLAINTEXT"
    ) -> Request:
        return Request(APIS[key], version, 7, client_id, listener, body)

    return build


@pytest.fixture
async def connect(broker, schema):
    """Connects to a listener that is started with the broker as it is at the first call."""
    listeners, writers = [], []

    async def to():
        if not listeners:
            listener = ClientListener(
                broker.context, ConnectionQuotas(lambda: ConnectionLimits(10_000), 10_000), "PLAINTEXT"
            )
            bound = socket.create_server(("127.0.0.1", 0))
            bound.settimeout(0)
            listener.start_on(bound)
            listeners.append((listener, bound.getsockname()[1]))
        reader, writer = await asyncio.open_connection("127.0.0.1", listeners[0][1])
        writers.append(writer)
        return Client(schema, reader, writer)

    yield to
    for writer in writers:
        writer.close()
    for listener, _ in listeners:
        await listener.stop()


@pytest.fixture
async def connect_to(broker, schema):
    """Connects to a SASL listener whose sessions last as long as it is told."""
    listeners, writers = [], []

    async def to(max_reauth_ms=0):
        mechanism = Mechanism(lambda: PlainSaslServer({"alice": "secret"}), max_reauth_ms)
        quotas = ConnectionQuotas(lambda: ConnectionLimits(10_000), 10_000)
        listener = ClientListener(broker.context, quotas, "SASL_PLAINTEXT", mechanisms={"PLAIN": mechanism})
        bound = socket.create_server(("127.0.0.1", 0))
        bound.settimeout(0)
        port = bound.getsockname()[1]
        listener.start_on(bound)
        listeners.append(listener)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writers.append(writer)
        return Raw(schema, reader, writer)

    yield to
    for writer in writers:
        writer.close()
    for listener in listeners:
        await listener.stop()
