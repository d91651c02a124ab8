"""The place of a server process: its address, and the command that starts processes there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """An address of this machine.

    Attributes:
        host: The IPv4 address that servers listen on and are reached at.
        enter: The command that starts another command in this place, such as ``ip netns exec NAME``; empty if
            none is needed. It must exec that command, so that its process id is the server's.
    """

    host: str = "127.0.0.1"
    enter: tuple[str, ...] = ()


HERE = Place()
"""The loopback interface."""
