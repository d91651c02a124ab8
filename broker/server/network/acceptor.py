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
from typing import Any

import structlog

from barnabas.broker.core.quotas.connection_quotas import (
    Admission,
    ConnectionCounter,
    ConnectionLimits,
    Verdict,
)
from barnabas.cluster.model.addresses import host_address
from barnabas.cluster.runtime.line_limit import LINES

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
"""The advice for an operator about a shortage, by error number."""

_SHORTAGES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class ConnectionQuotas(ConnectionCounter):
    """The client connections of the broker, on all listeners, and their bounds, descriptors among them.

    Args:
        limits: Returns the limits in force.
        first_kept_back: Beyond the guaranteed number, no connection may keep a descriptor of this number or
            above.
        guaranteed: The number of connections allowed whatever their descriptors: logs alone may use all below
            ``first_kept_back``.
        rates: The arguments of the counter that concern rates.
    """

    def __init__(
        self, limits: Callable[[], ConnectionLimits], first_kept_back: int, guaranteed: int = 0, **rates: Any
    ) -> None:
        super().__init__(limits, **rates)
        self._first_kept_back = first_kept_back
        self._guaranteed = guaranteed

    def fits(self, connection: socket.socket) -> bool:
        """Return whether the connection may stay: there are few, or its descriptor is low enough."""
        return self.count < self._guaranteed or connection.fileno() < self._first_kept_back


class Acceptor:
    """An acceptor of connections on one socket.

    Args:
        listening: The bound, listening, non-blocking socket.
        listener: The name of the listener.
        quotas: The connections of all listeners, and their limits.
        serve: Called with each connection and its address; the connection counts until ``quotas.closed`` is
            called.
    """

    def __init__(
        self,
        listening: socket.socket,
        listener: str,
        quotas: ConnectionQuotas,
        serve: Callable[[socket.socket, str], None],
    ) -> None:
        self._listening = listening
        self._listener = listener
        self._quotas = quotas
        self._serve = serve
        self._loop = asyncio.get_running_loop()
        self._held: socket.socket | None = None
        self._is_counted = False
        self._reason = ""
        self._next_warning_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._silent: dict[socket.socket, asyncio.TimerHandle] = {}
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
        for connection, timer in self._silent.items():
            timer.cancel()
            connection.close()
        self._silent.clear()

    def _accept(self) -> None:
        # The loop calls this while a client waits, so a missing slot always keeps a client waiting.
        for accepted in range(MOST_AT_ONCE):
            full = self._quotas.full(self._listener)
            if full is not None:
                if not accepted:
                    self._pause(full)
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
            if not self._take(connection):
                return

    def _take(self, connection: socket.socket) -> bool:
        """Serve or close a connection; if it must wait for that, hold it and return False."""
        if not self._quotas.fits(connection):
            self._held = connection
            limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            self._pause(
                f"the process may have {limit} files open, and the descriptors that are left are kept "
                f"back for logs and other servers{_REMEDIES[errno.EMFILE]}"
            )
            return False
        if not self._is_counted:
            wait_ms = self._quotas.wait_ms(self._listener, self._now_ms)
            if wait_ms:
                self._held, self._is_counted = connection, True
                self._pause("max.connection.creation.rate allows no more; raise it", wait_ms / 1000)
                return False
        self._is_counted = False
        self._admit(connection)
        return True

    def _admit(self, connection: socket.socket) -> None:
        try:
            host = host_address(connection.getpeername()[0])
        except OSError:
            connection.close()  # its client has gone
            return
        match self._quotas.admit(self._listener, host, self._now_ms):
            case Admission(Verdict.SERVE):
                self._serve(connection, host)
            case Admission(Verdict.CLOSE_LATER, wait_ms):
                self._silent[connection] = self._loop.call_later(wait_ms / 1000, self._end, connection)
            case Admission(_, maximum):
                connection.close()
                if LINES.allow("rejected connections"):
                    _log.info(
                        f"Rejected connection from {host}, address already has the configured maximum of "
                        f"{maximum} connections."
                    )

    def _end(self, connection: socket.socket) -> None:
        """Close a connection of an address that has too many."""
        del self._silent[connection]
        connection.close()

    @property
    def _now_ms(self) -> int:
        return int(self._loop.time() * 1000)

    def _pause(self, reason: str, pause_s: float = PAUSE_S) -> None:
        self._reason = reason
        self._warn()
        self._loop.remove_reader(self._listening)
        self._timer = self._loop.call_later(pause_s, self._resume)

    def _warn(self) -> None:
        """Log why connections wait, every `WARN_EVERY_S` seconds as long as they do."""
        now = self._loop.time()
        if now >= self._next_warning_at:
            self._next_warning_at = now + WARN_EVERY_S
            _log.warning(
                "connections wait to be accepted", reason=self._reason, connections=self._quotas.count
            )

    def _resume(self) -> None:
        """Accept again if the connection that was accepted last may be served now."""
        if self._held is not None:
            held, self._held = _renumbered(self._held), None
            full = self._quotas.full(self._listener)
            if full is not None:
                self._held = held
                self._pause(full)
                return
            if not self._take(held):
                return
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
