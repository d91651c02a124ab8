"""Which fetchers run, and what each of them fetches."""

from __future__ import annotations

import asyncio

import pytest

from barnabas.broker.replicas.replica_fetchers import ReplicaFetchers
from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime.supervisor import Supervisor

TP, OTHER = TopicPartition("t", 0), TopicPartition("u", 0)
HERE, THERE = Endpoint("GRPC", "127.0.0.1", 1), Endpoint("GRPC", "127.0.0.1", 2)


@pytest.fixture
async def supervisor():
    deaths = []
    supervisor = Supervisor(lambda name, error: deaths.append((name, error)))
    yield supervisor
    assert await supervisor.close(5) == []
    assert deaths == []


@pytest.fixture
def fetchers(room, supervisor):
    return ReplicaFetchers(room.hosted, supervisor, lambda: 1)


async def test_one_stream_per_leader(fetchers, supervisor):
    fetchers.follow(TP, 0, 2, HERE)
    fetchers.follow(OTHER, 0, 2, HERE)
    assert supervisor.names == ["fetcher-2"]
    fetchers.follow(TP, 1, 3, THERE)
    assert supervisor.names == ["fetcher-2", "fetcher-3"]
    fetchers.stop([OTHER])
    fetchers.end_idle()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert supervisor.names == ["fetcher-3"]
    await fetchers.close()
    assert supervisor.names == []


async def test_a_leader_that_moved_gets_a_new_stream_for_all_it_leads(fetchers):
    fetchers.follow(TP, 4, 2, HERE)
    fetchers.follow(OTHER, 5, 2, THERE)
    ((fetcher, _),) = fetchers._running.values()
    assert fetcher.endpoint == THERE
    assert dict(fetcher.fetch_state.epochs) == {TP: 4, OTHER: 5}
    await fetchers.close()
    assert fetchers._running == {}
