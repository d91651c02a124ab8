"""The parser of ``zookeeper.connect``: servers and chroot."""

from __future__ import annotations

import re
from typing import NamedTuple

_SERVER = re.compile(r"([^\s:,/\[\]]+|\[[0-9A-Fa-f:.]+\]):\d+")
_CHROOT = re.compile(r"(/[^/\s]+)*")


class ConnectString(NamedTuple):
    """The two parts of a connect string.

    Attributes:
        servers: ``host:port`` of each server, separated by commas.
        chroot: The node that is used as the root, such as ``/kafka``; empty for the root itself.
    """

    servers: str
    chroot: str


def parse_connect_string(text: str) -> ConnectString:
    """Parse ``host:port,host:port/chroot``.

    Raises:
        ValueError: There is no server, a server has no port, or the chroot has an empty part.
    """
    servers, slash, rest = text.strip().partition("/")
    chroot = (slash + rest).rstrip("/")
    if not all(_SERVER.fullmatch(server) for server in servers.split(",")) or not _CHROOT.fullmatch(chroot):
        raise ValueError(f"zookeeper.connect is {text!r}, expected host:port[,host:port...][/chroot]")
    return ConnectString(servers, chroot)
