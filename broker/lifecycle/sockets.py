"""The sockets of the client listeners. They are bound before anything else and accept after registration."""

from __future__ import annotations

import socket

from barnabas.broker.config.start_error import StartError
from barnabas.cluster.model.brokers import Endpoint

BACKLOG = 512
"""Connections that the kernel queues until they are accepted."""


def bind(endpoint: Endpoint) -> socket.socket:
    """Bind ``endpoint`` and listen. An empty host means all addresses, of IPv6 too if the system has it.

    Raises:
        StartError: The port is in use, or the host is not an address of this machine.
    """
    try:
        if endpoint.host:
            family = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)[0][0]
            bound = socket.create_server((endpoint.host, endpoint.port), family=family, backlog=BACKLOG)
        elif socket.has_dualstack_ipv6():
            bound = socket.create_server(
                ("", endpoint.port), family=socket.AF_INET6, backlog=BACKLOG, dualstack_ipv6=True
            )
        else:
            bound = socket.create_server(("", endpoint.port), backlog=BACKLOG)
    except OSError as error:
        raise StartError(f"Cannot listen on {endpoint}: {error.strerror or error}") from error
    bound.settimeout(0)
    return bound


def port_of(bound: socket.socket) -> int:
    """Return the port that ``bound`` is bound to."""
    port: int = bound.getsockname()[1]
    return port
