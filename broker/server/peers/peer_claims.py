"""The check that a request comes from the broker that it names, by the certificate of its connection.

A broker's certificate names the host that it has registered, because other brokers check that name when they
connect to it. So a certificate may speak for the brokers whose hosts it names: with a certificate for each
host no broker can pass itself off as one on another host, and with one for all of them each can. Kafka does
not check this.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from google.protobuf.message import DecodeError

from barnabas.broker.core.metadata_cache import MetadataCache
from barnabas.broker.core.replication.control_gate import ControlGate
from barnabas.cluster.model.brokers import GRPC_LISTENER, Broker
from barnabas.cluster.model.host_names import is_named
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.rpc import control_pb2

_CONTROL = frozenset({"LeaderAndIsr", "UpdateMetadata", "StopReplica"})

_MOST_FOUND = 1024


class PeerClaims:
    """The check of the broker ids in requests.

    Args:
        metadata: Has the registered hosts of brokers, and the controller.
        gate: Has the latest controller epoch.
        read_brokers: Reads the registrations of some brokers from ZooKeeper, as far as there are any; of all
            live ones for None.
        read_controller: Reads from ZooKeeper which broker is the controller; None if none is.
    """

    def __init__(
        self,
        metadata: MetadataCache,
        gate: ControlGate,
        read_brokers: Callable[[Collection[BrokerId] | None], Awaitable[Mapping[BrokerId, Broker]]],
        read_controller: Callable[[], Awaitable[BrokerId | None]],
    ) -> None:
        self._metadata = metadata
        self._gate = gate
        self._read_brokers = read_brokers
        self._read_controller = read_controller
        self._found: dict[tuple[str, ...], BrokerId] = {}
        """The brokers whose hosts are among the names of a certificate, by these names."""

    async def stranger(self, hosts: tuple[str, ...]) -> str | None:
        """Return why a certificate is no broker's; None if it names the host of a live broker.

        Raises:
            ZooKeeperError: ZooKeeper must be asked, and does not answer.
        """
        last = self._found.get(hosts)
        known = None if last is None else self._metadata.broker(last)
        if known is not None and _is_of(known, hosts):
            return None
        for brokers in (self._metadata.live_brokers, None):
            live = (await self._read_brokers(None)).values() if brokers is None else brokers
            found = next((each.id for each in live if _is_of(each, hosts)), None)
            if found is not None:
                if len(self._found) >= _MOST_FOUND:
                    self._found.clear()
                self._found[hosts] = found
                return None
        return f"the certificate of this connection is for {_listed(hosts)}, and no live broker is there"

    async def refusal(self, method: str, request: Any, hosts: Collection[str]) -> str | None:
        """Return why a request is not from the broker that it names; None if it is, or names none.

        Args:
            method: The name of the method, such as ``Fetch``.
            request: The first request of the call: of control requests the bytes, else decoded.
            hosts: The hosts in the certificate of the caller.

        Raises:
            ZooKeeperError: ZooKeeper must be asked, and does not answer.
        """
        if method == "Fetch":
            return await self._broker_refusal(BrokerId(request.replica_id), hosts)
        if method == "ControlledShutdown":
            command, _ = request
            return await self._broker_refusal(command.broker_id, hosts)
        if method in _CONTROL:
            return await self._controller_refusal(request, hosts)
        return None

    async def _controller_refusal(self, request: bytes, hosts: Collection[str]) -> str | None:
        try:
            head = control_pb2.ControlRequestHead.FromString(request)
        except DecodeError:
            return None  # the decoder refuses the whole request
        if head.controller_epoch < self._gate.controller_epoch:
            return None  # a former controller, which the check of its epoch refuses
        claimed = BrokerId(head.controller_id)
        if claimed != self._metadata.controller:
            known = await self._read_controller()
            if claimed != known:
                return (
                    f"broker {claimed} is not the controller, which is {'none' if known is None else known}"
                )
        return await self._broker_refusal(claimed, hosts)

    async def _broker_refusal(self, claimed: BrokerId, hosts: Collection[str]) -> str | None:
        known = self._metadata.broker(claimed)
        if known is not None and _is_of(known, hosts):
            return None
        # The broker may have registered just now, or from another host.
        known = (await self._read_brokers([claimed])).get(claimed)
        if known is not None and _is_of(known, hosts):
            return None
        registered = (
            "is not registered" if known is None else f"has registered {known.endpoint(GRPC_LISTENER)}"
        )
        return (
            f"broker {claimed} {registered}, and the certificate of this connection is for {_listed(hosts)}"
        )


def _listed(hosts: Collection[str]) -> str:
    return ", ".join(hosts) or "no host"


def _is_of(broker: Broker, hosts: Collection[str]) -> bool:
    endpoint = broker.endpoint(GRPC_LISTENER)
    return endpoint is not None and is_named(endpoint.host, hosts)
