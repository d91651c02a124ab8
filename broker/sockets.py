"""The sockets of the client listeners: bound first of all, accepted from after registration."""

from __future__ import annotations

import socket

from barnabas.broker.errors import StartError
from barnabas.cluster.model.brokers import Endpoint

BACKLOG = 512
"""Connections that the system holds until they are accepted."""


def bind(endpoint: Endpoint) -> socket.socket:
    """Bind and listen; an empty host is every address, of both families where the system has both.

    Raises:
        StartError: The port is taken, or the host is none of this machine's.
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
    """The port that a socket is bound to."""
    port: int = bound.getsockname()[1]
    return port
