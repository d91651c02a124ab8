"""Brokers and their endpoints."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.ids import BrokerId

GRPC_LISTENER = "GRPC"
"""The name of the listener between brokers, and between brokers and the controller."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address on which a broker listens.

    Attributes:
        listener: The listener's name, such as ``PLAINTEXT`` or ``GRPC``.
        host: The host name or address that clients connect to.
        port: A TCP port.
        security_protocol: The listener's protocol in ``listener.security.protocol.map``.
    """

    listener: str
    host: str
    port: int
    security_protocol: str = "PLAINTEXT"

    def __str__(self) -> str:
        return f"{self.listener}://{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Broker:
    """A live broker: the content of ``/brokers/ids/<id>`` and the epoch of that registration.

    Attributes:
        id: The broker id.
        epoch: The broker epoch, which is the czxid of the registration.
        endpoints: The endpoints of all listeners.
        rack: The ``broker.rack``; None if it is not set.
    """

    id: BrokerId
    epoch: BrokerEpoch
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None

    def endpoint(self, listener: str) -> Endpoint | None:
        """Return the endpoint of a listener; None if the broker has no such listener."""
        return next((e for e in self.endpoints if e.listener == listener), None)
