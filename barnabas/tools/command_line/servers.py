"""The addresses that the tools take as ``--bootstrap-server``.

Source: ``ClientUtils.parseAndValidateAddresses`` of Kafka 2.8, which also refuses an address without a port.
"""

from __future__ import annotations

import re
import socket
import ssl
import struct
from argparse import ArgumentTypeError
from collections.abc import Iterable
from enum import Enum

CONNECT_S = 2.0
"""Seconds to wait until an address that did not answer accepts a connection."""

_ADDRESS = re.compile(
    r"(?:\[(?P<ip6>[0-9A-Fa-f:.]+(?:%\w+)?)\]|(?P<host>[^\s:\[\]/]+)):(?P<port>[0-9]{1,5})", re.ASCII
)

_PORTS = range(1, 65536)


class ServersError(ArgumentTypeError):
    """A text is not a list of addresses; the message names the address and what was expected."""


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
            raise ServersError(f"{server!r} is no address, {_EXPECTED}")
    if not servers:
        raise ServersError(f"{text!r} names no address, {_EXPECTED}")
    return servers


_EXPECTED = "expected host:port with a port from 1 to 65535, or several of them separated by commas"


class Demand(Enum):
    """The demands of listeners, in words for people."""

    TLS = "speaks TLS"
    LOGIN = "demands a login"


_PROTOCOLS = {
    Demand.TLS: "security.protocol=SSL, or SASL_SSL and a login,",
    Demand.LOGIN: "security.protocol=SASL_PLAINTEXT and a login",
}

_MEETS = {Demand.TLS: ("SSL", "SASL_SSL"), Demand.LOGIN: ("SASL_PLAINTEXT", "SASL_SSL")}


def demand(server: str, protocol: str) -> Demand | None:
    """Connect to an address, and return what it demands that clients of ``protocol`` do not meet.

    Args:
        server: An address as `parse_servers` returns it.
        protocol: The client's ``security.protocol``.

    Returns:
        None if it demands nothing, or does not answer.
    """
    for each in Demand:
        if protocol not in _MEETS[each] and _PROBES[each](server):
            return each
    return None


def _connect(server: str) -> socket.socket:
    found = _ADDRESS.fullmatch(server)
    if found is None:
        raise OSError(f"{server!r} is not host:port")
    return socket.create_connection((found["ip6"] or found["host"], int(found["port"])), CONNECT_S)


def _speaks_tls(server: str) -> bool:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with _connect(server) as plain, context.wrap_socket(plain):
            return True
    except ssl.SSLError as error:
        # A TLS server that does not like this hello says so with an alert.
        return "ALERT" in (error.reason or "")
    except OSError:
        return False


def _demands_login(server: str) -> bool:
    """Return whether a server answers ApiVersions, and closes the connection at a request without a login."""
    try:
        with _connect(server) as plain, plain.makefile("rb") as answers:
            plain.sendall(_API_VERSIONS)
            size = answers.read(4)
            if len(size) < len(b"size") or not answers.read(int.from_bytes(size, "big")):
                return False
            plain.sendall(_METADATA)
            try:
                return answers.read(1) == b""
            except ConnectionError:
                return True
    except OSError:
        return False


_PROBES = {Demand.TLS: _speaks_tls, Demand.LOGIN: _demands_login}

# Each is length, API key, version, correlation id and no client id; then no topics.
_API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)
_METADATA = struct.pack(">ihhihi", 14, 3, 1, 2, -1, 0)


def why_silent(servers: Iterable[str], protocol: str = "PLAINTEXT") -> str:
    """Connect to each address that did not answer a request, and return the reasons.

    Args:
        servers: Addresses as `parse_servers` returns them.
        protocol: The client's ``security.protocol``.

    Returns:
        The reasons, separated by semicolons, each after the addresses that it concerns. An address that
        accepts a connection has a process, but maybe one that hangs: the operating system completes
        connections on its behalf.
    """
    alike: dict[str, list[str]] = {}
    for server in servers:
        alike.setdefault(_reason(server, protocol), []).append(server)
    return "; ".join(
        f"{'each of ' if len(which) > 1 else ''}{', '.join(which)} {reason}"
        for reason, which in alike.items()
    )


def _reason(server: str, protocol: str) -> str:
    try:
        _connect(server).close()
    except socket.gaierror as error:
        return f"has a host name that cannot be resolved: {error.strerror}"
    except OSError as error:
        return (
            f"cannot be connected to: {error.strerror or error}; expected the host:port of a running broker"
        )
    if (wanted := demand(server, protocol)) is not None:
        return (
            f"{wanted.value}: {_PROTOCOLS[wanted]} belong in the file of --command-config "
            "(--producer.config, --consumer.config)"
        )
    return (
        "accepts connections but does not answer: it is not a listener for clients, or its broker hangs, is "
        "starting, or has reached max.connections (then its server.log says so)"
    )
