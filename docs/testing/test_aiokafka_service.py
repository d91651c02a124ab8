"""An aiokafka service under test, and faults injected from async code through ``cluster.aio``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

SETTINGS = {
    # A paused broker is silent: a request to it takes this long. The default of 40 s is longer than a test.
    "request_timeout_ms": 3_000,
    "retry_backoff_ms": 100,
}
SAFE = {"acks": "all", "enable_idempotence": True}


@asynccontextmanager
async def consumer_of(topic: str, bootstrap_servers: str, **settings: Any) -> AsyncIterator[AIOKafkaConsumer]:
    """A started consumer of ``topic``, from the first record on."""
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap_servers, auto_offset_reset="earliest", **SETTINGS, **settings
    )
    await consumer.start()
    try:
        yield consumer
    finally:
        # A fetch from a silent broker fails and waits for its retry. If stop() comes then, aiokafka 0.14
        # raises that fetch's CancelledError, and leaves the connections open.
        await asyncio.gather(consumer.stop(), return_exceptions=True)
        await consumer._client.close()


async def shout(bootstrap_servers: str, ready: asyncio.Event) -> None:
    """The service: read ``words``, and write each to ``shouts`` in upper case."""
    # With automatic commits, aiokafka 0.14 does not stop when the coordinator has just died.
    reader = consumer_of("words", bootstrap_servers, group_id="shout", enable_auto_commit=False)
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap_servers, **SAFE, **SETTINGS)
    async with reader as consumer, producer:
        ready.set()
        async for message in consumer:
            await producer.send_and_wait("shouts", message.value.upper())
            await consumer.commit()


async def test_the_service_goes_on_when_the_leader_is_paused(barnabas_cluster):
    cluster = barnabas_cluster.aio
    await cluster.create_topic("words")
    await cluster.create_topic("shouts")
    ready = asyncio.Event()
    service = asyncio.create_task(shout(cluster.bootstrap_servers, ready))
    await ready.wait()

    producer = AIOKafkaProducer(bootstrap_servers=cluster.bootstrap_servers, **SAFE, **SETTINGS)
    async with producer, consumer_of("shouts", cluster.bootstrap_servers) as listener, asyncio.timeout(60):
        await producer.send_and_wait("words", b"before")
        assert (await listener.getone()).value == b"BEFORE"
        leader = await cluster.leader_of("shouts")
        async with cluster.paused(leader):
            others = set(cluster.brokers) - {leader}
            await cluster.wait_until_isr("shouts", isr=others)
            await producer.send_and_wait("words", b"after")
            assert (await listener.getone()).value == b"AFTER"
    service.cancel()
    await asyncio.gather(service, return_exceptions=True)
