"""``zookeeper.connect``: which servers, and below which node of theirs a cluster lives."""

from __future__ import annotations

import re
from typing import NamedTuple

_SERVER = re.compile(r"([^\s:,/\[\]]+|\[[0-9A-Fa-f:.]+\]):\d+")
_CHROOT = re.compile(r"(/[^/\s]+)*")


class ConnectString(NamedTuple):
    """The two parts of a connect string.

    Attributes:
        servers: ``host:port`` of each server, separated by commas.
        chroot: The node that stands for the root, such as ``/kafka``; empty for the root itself.
    """

    servers: str
    chroot: str


def parse_connect_string(text: str) -> ConnectString:
    """Take ``host:port,host:port/chroot`` apart.

    Raises:
        ValueError: It names no server, or a server without a port, or a chroot with an empty part.
    """
    servers, slash, rest = text.strip().partition("/")
    chroot = (slash + rest).rstrip("/")
    if not all(_SERVER.fullmatch(server) for server in servers.split(",")) or not _CHROOT.fullmatch(chroot):
        raise ValueError(f"zookeeper.connect is {text!r}, expected host:port[,host:port...][/chroot]")
    return ConnectString(servers, chroot)
