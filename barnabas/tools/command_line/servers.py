"""The addresses that the tools take as ``--bootstrap-server``.

Source: ``ClientUtils.parseAndValidateAddresses`` of Kafka 2.8, which also refuses an address without a port.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable

CONNECT_S = 2.0
"""Seconds to wait until an address that did not answer accepts a connection."""

_ADDRESS = re.compile(
    r"(?:\[(?P<ip6>[0-9A-Fa-f:.]+(?:%\w+)?)\]|(?P<host>[^\s:\[\]/]+)):(?P<port>[0-9]{1,5})", re.ASCII
)

_PORTS = range(1, 65536)


class ServersError(ValueError):
    """A text is not a list of addresses; the message names the option, the address and what was expected."""


def parse_servers(text: str) -> list[str]:
    """Split ``host:port`` addresses at commas; ignore empty ones, as Kafka does.

    Raises:
        ServersError: An address is not of the form ``host:port`` or ``[IPv6 address]:port`` with a port from
            1 to 65535, or there is none.
    """
    servers = [part for each in text.split(",") if (part := each.strip())]
    for server in servers:
        found = _ADDRESS.fullmatch(server)
        if found is None or int(found["port"]) not in _PORTS:
            raise ServersError(f"--bootstrap-server has {server!r}, {_EXPECTED}")
    if not servers:
        raise ServersError(f"--bootstrap-server is {text!r}, {_EXPECTED}")
    return servers


_EXPECTED = "expected host:port with a port from 1 to 65535, or several of them separated by commas"


def why_silent(servers: Iterable[str]) -> str:
    """Connect to each address that did not answer a request, and return the reasons.

    Args:
        servers: Addresses as `parse_servers` returns them.

    Returns:
        The reason for each address, separated by semicolons. An address that accepts a connection has a
        process, but maybe one that hangs: the operating system completes connections on its behalf.
    """
    return "; ".join(f"{server} {_reason(server)}" for server in servers)


def _reason(server: str) -> str:
    found = _ADDRESS.fullmatch(server)
    if found is None:
        return "is not host:port"
    try:
        socket.create_connection((found["ip6"] or found["host"], int(found["port"])), CONNECT_S).close()
    except socket.gaierror as error:
        return f"has a host name that cannot be resolved: {error.strerror}"
    except OSError as error:
        return (
            f"cannot be connected to: {error.strerror or error}; expected the host:port of a running broker"
        )
    return (
        "accepts connections but does not answer: it is not a listener for clients, or its broker hangs, is "
        "starting, or has reached max.connections (then its server.log says so)"
    )
