"""The addresses that ``--bootstrap-server`` gives to Kafka's tools.

Source: ``ClientUtils.parseAndValidateAddresses`` of Kafka 2.8, which refuses an address without a port, too.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable

CONNECT_S = 2.0
"""How long an address that did not answer may take to accept a connection, in seconds."""

_ADDRESS = re.compile(
    r"(?:\[(?P<ip6>[0-9A-Fa-f:.]+(?:%\w+)?)\]|(?P<host>[^\s:\[\]/]+)):(?P<port>[0-9]{1,5})", re.ASCII
)

_PORTS = range(1, 65536)


class ServersError(ValueError):
    """The text is no list of addresses; the message names the option, the address and what was expected."""


def parse_servers(text: str, flag: str = "--bootstrap-server") -> list[str]:
    """Split ``host:port`` addresses at commas; empty ones between commas do not count, as in Kafka.

    Args:
        text: What was given.
        flag: The option that it was given to, for the error.

    Raises:
        ServersError: An address is not of the form ``host:port`` or ``[IPv6 address]:port`` with a port from
            1 to 65535, or there is none.
    """
    servers = [part for each in text.split(",") if (part := each.strip())]
    for server in servers:
        found = _ADDRESS.fullmatch(server)
        if found is None or int(found["port"]) not in _PORTS:
            raise ServersError(f"{flag} has {server!r}, {_EXPECTED}")
    if not servers:
        raise ServersError(f"{flag} is {text!r}, {_EXPECTED}")
    return servers


_EXPECTED = "expected host:port with a port from 1 to 65535, or several of them separated by commas"


def why_silent(servers: Iterable[str]) -> str:
    """Connect to each address, of which none answered a request, and say what stands in the way.

    Args:
        servers: Addresses as `parse_servers` returns them.

    Returns:
        A finding for each address, with semicolons in between. A process that accepts a connection and stays
        silent is told from one that is not there: the system completes connections on behalf of a broker
        that accepts no more.
    """
    return "; ".join(f"{server} {_finding(server)}" for server in servers)


def _finding(server: str) -> str:
    found = _ADDRESS.fullmatch(server)
    if found is None:
        return "is no host:port"
    try:
        socket.create_connection((found["ip6"] or found["host"], int(found["port"])), CONNECT_S).close()
    except socket.gaierror as error:
        return f"has a host name that cannot be resolved: {error.strerror}"
    except OSError as error:
        return (
            f"cannot be connected to: {error.strerror or error}; expected the host:port of a running broker"
        )
    return (
        "takes connections but does not answer: it is no listener for clients, or its broker hangs, is "
        "starting, or has as many connections as it may have (its server.log says so)"
    )
