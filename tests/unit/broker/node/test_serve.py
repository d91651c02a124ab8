import asyncio
import contextlib
import socket
from types import SimpleNamespace

import pytest

from barnabas.broker.config.broker_config import parse
from barnabas.broker.core.metadata_cache import MetadataCache
from barnabas.broker.node.serve import serve_clients
from barnabas.broker.server.metadata_purgatories import MetadataPurgatories
from barnabas.cluster.model.configs.described import BrokerSettings
from barnabas.cluster.runtime.metrics import Metrics


@pytest.fixture
def phases():
    """What the phases before have opened, as far as a connection without a request sees it."""
    bound = socket.create_server(("127.0.0.1", 0))
    bound.settimeout(0)
    config = parse({"zookeeper.connect": "z"}, hostname="here")[0]
    storage = SimpleNamespace(
        sockets={"PLAINTEXT": bound},
        broker_id=1,
        cluster_id="c",
        topic_configs=None,
        authorizer=None,
        tls={},
        config_handler=SimpleNamespace(quotas={}),
        live=SimpleNamespace(settings=BrokerSettings(config.values, {})),
    )
    replicas = SimpleNamespace(
        metadata=MetadataCache(), appends=None, deletes=None, reads=None, log_dirs=None
    )
    replication = SimpleNamespace(
        replicas=replicas,
        controller=SimpleNamespace(port=None, await_propagation=None),
        any_controller=None,
        producer_ids=None,
        groups=None,
    )
    process = SimpleNamespace(config=config, metrics=Metrics(), descriptors=10_000)
    return storage, replication, process


async def a_moment():
    await asyncio.sleep(0)


async def until(condition):
    async with asyncio.timeout(60):
        while not condition():
            await a_moment()


async def test_clients_are_served_and_counted_until_the_stack_unwinds(phases):
    storage, replication, process = phases
    count = process.metrics.connection_count
    async with contextlib.AsyncExitStack() as stack:
        await serve_clients(storage, replication, MetadataPurgatories(), process, stack)
        reader, writer = await asyncio.open_connection(*storage.sockets["PLAINTEXT"].getsockname())
        await until(lambda: next(iter(count.collect())).samples[0].value == 1)
    async with asyncio.timeout(60):
        assert await reader.read() == b""
    writer.close()
    assert storage.sockets["PLAINTEXT"].fileno() < 0
