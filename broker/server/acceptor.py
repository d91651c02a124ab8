"""The accepting of connections on one listening socket, as long as there is room for them.

If there is none, it pauses as Kafka's acceptor does (``ConnectionQuotas.waitForConnectionSlot``): clients
stay in the system's backlog.
"""

from __future__ import annotations

import asyncio
import errno
import resource
import socket
from collections.abc import Callable

import structlog

_log = structlog.get_logger("kafka.network.Acceptor")

PAUSE_S = 0.1
"""The pause in seconds between two checks for room."""

MOST_AT_ONCE = 32
"""The most connections accepted in one pass of the event loop."""

WARN_EVERY_S = 60.0
"""The interval in seconds between two warnings that connections wait."""

_REMEDIES = {
    errno.EMFILE: "; raise the limit of open files (`ulimit -n`) and start the broker again",
    errno.ENFILE: "; raise the machine's limit of open files (`sysctl fs.file-max`)",
}
"""The remedies that an operator has for a shortage, by error."""

_SHORTAGES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class ConnectionQuotas:
    """The number of client connections of the broker, on all listeners, and its bounds.

    Args:
        maximum: Returns the current ``max.connections``.
        first_kept_back: Beyond the guaranteed number, no connection may keep a descriptor of this number or
            above.
        guaranteed: The number of connections allowed whatever their descriptors: logs alone may use all below
            ``first_kept_back``.

    Attributes:
        count: The current number of connections.
    """

    def __init__(self, maximum: Callable[[], int], first_kept_back: int, guaranteed: int = 0) -> None:
        self._maximum = maximum
        self._first_kept_back = first_kept_back
        self._guaranteed = guaranteed
        self.count = 0

    @property
    def has_slot(self) -> bool:
        """Whether ``max.connections`` allows one more."""
        return self.count < self._maximum()

    def fits(self, connection: socket.socket) -> bool:
        """Return whether the connection may stay: there are few, or its descriptor is low enough."""
        return self.count < self._guaranteed or connection.fileno() < self._first_kept_back


class Acceptor:
    """An acceptor of connections on one socket.

    Args:
        listening: The bound, listening, non-blocking socket.
        quotas: The bounds.
        serve: Called with each connection, which counts in ``quotas`` until it is closed.
    """

    def __init__(
        self, listening: socket.socket, quotas: ConnectionQuotas, serve: Callable[[socket.socket], None]
    ) -> None:
        self._listening = listening
        self._quotas = quotas
        self._serve = serve
        self._loop = asyncio.get_running_loop()
        self._held: socket.socket | None = None
        self._reason = ""
        self._next_warning_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._loop.add_reader(listening, self._accept)

    def close(self) -> None:
        """Stop accepting and close the socket; may be called again."""
        if self._listening.fileno() < 0:
            return
        self._loop.remove_reader(self._listening)
        self._listening.close()
        if self._timer is not None:
            self._timer.cancel()
        if self._held is not None:
            self._held.close()

    def _accept(self) -> None:
        # The loop calls this while a client waits, so a missing slot always keeps a client waiting.
        for accepted in range(MOST_AT_ONCE):
            if not self._quotas.has_slot:
                if accepted:
                    return
                self._pause(f"max.connections allows no more than {self._quotas.count}; raise it")
                return
            try:
                connection, _address = self._listening.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in _SHORTAGES:
                    self._pause(f"{error.strerror}{_REMEDIES.get(error.errno, '')}")
                    return
                continue  # an error of one connection, whose client has gone
            if not self._quotas.fits(connection):
                self._held = connection
                limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
                self._pause(
                    f"the process may have {limit} files open, and the descriptors that are left are kept "
                    f"back for logs and other servers{_REMEDIES[errno.EMFILE]}"
                )
                return
            self._serve(connection)

    def _pause(self, reason: str) -> None:
        self._reason = reason
        self._warn()
        self._loop.remove_reader(self._listening)
        self._timer = self._loop.call_later(PAUSE_S, self._resume)

    def _warn(self) -> None:
        """Log why connections wait, every `WARN_EVERY_S` seconds as long as they do."""
        now = self._loop.time()
        if now >= self._next_warning_at:
            self._next_warning_at = now + WARN_EVERY_S
            _log.warning(
                "connections wait to be accepted", reason=self._reason, connections=self._quotas.count
            )

    def _resume(self) -> None:
        """Accept again if the connection that was accepted last gets a lower descriptor now."""
        if self._held is not None:
            held, self._held = _renumbered(self._held), None
            if not self._quotas.fits(held):
                self._held = held
                self._warn()
                self._timer = self._loop.call_later(PAUSE_S, self._resume)
                return
            self._serve(held)
        self._loop.add_reader(self._listening, self._accept)


def _renumbered(connection: socket.socket) -> socket.socket:
    """Return the same connection with the lowest free descriptor, if that is lower."""
    try:
        other = connection.dup()
    except OSError:
        return connection
    lower, higher = sorted((connection, other), key=socket.socket.fileno)
    higher.close()
    return lower
