"""A FastStream application on real brokers, instead of FastStream's broker in memory."""

from __future__ import annotations

import asyncio

from faststream import AckPolicy
from faststream.kafka import KafkaBroker

# Offsets are committed after each order. With automatic commits, the default, aiokafka 0.14 does not stop
# when the group's coordinator has just died: it looks for no other then.
READER = {"auto_offset_reset": "earliest", "ack_policy": AckPolicy.NACK_ON_ERROR}


async def test_an_order_leads_to_a_bill(barnabas_cluster):
    cluster = barnabas_cluster.aio
    await cluster.create_topic("orders")
    await cluster.create_topic("bills")
    broker = KafkaBroker(cluster.bootstrap_servers.split(","), acks="all", enable_idempotence=True)
    billed: asyncio.Queue[str] = asyncio.Queue()

    @broker.subscriber("orders", group_id="billing", **READER)
    @broker.publisher("bills")
    async def bill(order: str) -> str:
        return f"bill for {order}"

    @broker.subscriber("bills", group_id="check", **READER)
    async def check(text: str) -> None:
        await billed.put(text)

    async with broker, asyncio.timeout(60):
        await broker.start()
        await broker.publish("tea", "orders")
        assert await billed.get() == "bill for tea"
        async with cluster.killed(await cluster.leader_of("bills")):
            await broker.publish("cake", "orders")
            assert await billed.get() == "bill for cake"
