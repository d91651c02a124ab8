"""HTTP connections of which a reader that does not read is cut off.

A browser that hangs, or a program that opens streams and forgets them, would else keep the buffers of its
connections for good.
"""

from __future__ import annotations

import asyncio
import socket
import struct

from uvicorn.protocols.http.h11_impl import H11Protocol

UNREAD_S = 30.0
"""The seconds within which a reader must take what waits for it, which is at most some 64 KB."""

_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER: a close discards what was not sent, and resets the connection."""


class ReaderProtocol(H11Protocol):
    """An HTTP connection that is reset if its reader does not read."""

    _giving_up: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        """Start to wait, because the buffer is full."""
        super().pause_writing()
        self._giving_up = self.loop.call_later(UNREAD_S, self._give_up)

    def resume_writing(self) -> None:
        """Stop to wait, because the reader has read."""
        self._keep()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop to wait, because the connection has ended."""
        self._keep()
        super().connection_lost(exc)

    def _keep(self) -> None:
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None

    def _give_up(self) -> None:
        connection = self.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.transport.abort()
