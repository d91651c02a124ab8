"""Where a server process lives: the address it listens on, and how a command gets there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """An address of this machine.

    Attributes:
        host: The IPv4 address that servers listen on and are reached at.
        enter: The command that starts another command there (its first part is the path of a program), such
            as ``ip netns exec NAME``; nothing where every process is there already. It must become that
            command, so that its process id is the server's.
    """

    host: str = "127.0.0.1"
    enter: tuple[str, ...] = ()


HERE = Place()
"""The loopback interface."""
