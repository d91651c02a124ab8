"""A broker as the others know it."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.ids import BrokerId

GRPC_LISTENER = "GRPC"
"""The name of the listener on which brokers and the controller speak to each other."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address on which a broker listens.

    Attributes:
        listener: The listener's name, such as ``PLAINTEXT`` or ``GRPC``.
        host: A host name or address, as clients should dial it.
        port: A TCP port.
        security_protocol: What ``listener.security.protocol.map`` maps the name to.
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
        id: Its number.
        epoch: The czxid of its registration.
        endpoints: All its listeners.
        rack: Its ``broker.rack``, or None.
    """

    id: BrokerId
    epoch: BrokerEpoch
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None

    def endpoint(self, listener: str) -> Endpoint | None:
        """The address of the listener of that name, or None where the broker has no such listener."""
        return next((e for e in self.endpoints if e.listener == listener), None)
