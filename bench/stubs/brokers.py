"""Stub brokers in a process: they are registered and answer every request of the controller without error.

``python -m barnabas.bench.stubs.brokers ZOOKEEPER ID…`` registers them, prints their ids when
the controller may come, and serves until its input ends.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from typing import Any

import grpc.aio
import uvloop

from barnabas.cluster.model.brokers import GRPC_LISTENER, Endpoint
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.rpc import control_pb2 as pb
from barnabas.cluster.rpc.channels import server_options
from barnabas.cluster.rpc.control_pb2_grpc import BrokerControlServicer, add_BrokerControlServicer_to_server
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.store import ZooKeeperStore

SESSION_TIMEOUT_MS = 30_000


class StubBroker(BrokerControlServicer):
    """A gRPC service that answers every request of the controller without error and stores nothing."""

    async def LeaderAndIsr(self, _request: Any, _context: Any) -> pb.LeaderAndIsrResponse:  # noqa: N802  # the proto's
        """Answer without an error."""
        return pb.LeaderAndIsrResponse()

    async def UpdateMetadata(self, _request: Any, _context: Any) -> pb.UpdateMetadataResponse:  # noqa: N802
        """Answer without an error."""
        return pb.UpdateMetadataResponse()

    async def StopReplica(self, _request: Any, _context: Any) -> pb.StopReplicaResponse:  # noqa: N802
        """Answer without an error."""
        return pb.StopReplicaResponse()


async def serve(zookeeper: str, ids: Sequence[int]) -> None:
    """Register brokers of these ids and serve them until standard input ends."""
    session = await ZooKeeperSession.connect(
        zookeeper, session_timeout_ms=SESSION_TIMEOUT_MS, on_event=lambda _: None
    )
    store = ZooKeeperStore(session)
    await store.cluster.create_persistent_paths()
    servers = []
    for broker_id in ids:
        server = grpc.aio.server(options=server_options(SESSION_TIMEOUT_MS))
        add_BrokerControlServicer_to_server(StubBroker(), server)  # type: ignore[no-untyped-call]  # generated
        endpoint = Endpoint(GRPC_LISTENER, "127.0.0.1", server.add_insecure_port("127.0.0.1:0"))
        await server.start()
        servers.append(server)
        now_ms = int(time.time() * 1000)
        await store.brokers.register(BrokerId(broker_id), (endpoint,), None, now_ms=now_ms)
    print(*ids, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    for server in servers:
        await server.stop(None)
    await session.close()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1], [int(number) for number in sys.argv[2:]]))
