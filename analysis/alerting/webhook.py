"""The webhook: one POST of JSON with a deadline for the whole of it, and the pauses between attempts."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from barnabas.analysis.alerting.decide import Alert, Status

VERSION = 1
"""The version of the JSON; it rises when a field changes its meaning or goes away."""

DEADLINE_S = 10.0
"""The seconds within which a receiver must answer, from connecting to the status of its response."""

AT_ONCE = 100
"""The most messages in one POST."""

FIRST_PAUSE_S = 1.0
"""The pause in seconds after the first failed attempt; it doubles with each further one."""

LONGEST_PAUSE_S = 60.0
"""The longest pause in seconds between two attempts."""

_EXPECTED = "expected http://HOST[:PORT]/PATH or https://HOST[:PORT]/PATH"


class NotDeliveredError(Exception):
    """An error for a POST that the receiver did not accept, with the reason."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """The address of a receiver.

    Attributes:
        scheme: ``http`` or ``https``.
        host: The host.
        port: The TCP port; None for the scheme's.
        path: The path and the query.
    """

    scheme: str
    host: str
    port: int | None
    path: str

    def __str__(self) -> str:
        # Without the path, which may hold a secret.
        return f"{self.scheme}://{self.host}{'' if self.port is None else f':{self.port}'}"

    @classmethod
    def of(cls, url: str) -> Webhook:
        """Parse a URL.

        Raises:
            ValueError: It is not one of HTTP; the message says what was expected.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise ValueError(f"no webhook {url!r}: {error}; {_EXPECTED}") from error
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"no webhook {url!r}: {_EXPECTED}")
        if parts.username is not None or parts.password is not None:
            raise ValueError(f"no webhook with a user or a password in it: {_EXPECTED}")
        if not url.isascii() or not url.isprintable() or " " in url:
            raise ValueError(f"no webhook {url!r}: it has characters that a URL spells as %XX; {_EXPECTED}")
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return cls(parts.scheme, parts.hostname, port, path)

    def post(self, body: bytes) -> None:
        """Send a JSON body.

        Raises:
            NotDeliveredError: The receiver did not answer in time, or not with a status of 200 to 299.
        """
        kind = http.client.HTTPSConnection if self.scheme == "https" else http.client.HTTPConnection
        connection = kind(self.host, self.port, timeout=DEADLINE_S)
        is_late = threading.Event()

        def cut_off() -> None:
            is_late.set()
            # The socket's own timeout starts again with each byte, so a slow receiver would never end.
            if connection.sock is not None:
                with contextlib.suppress(OSError):
                    connection.sock.shutdown(socket.SHUT_RDWR)

        deadline = threading.Timer(DEADLINE_S, cut_off)
        deadline.daemon = True
        deadline.start()
        try:
            headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "barnabas-analyze"}
            connection.connect()
            if is_late.is_set():
                # Each address of the host has the whole timeout.
                raise TimeoutError
            connection.request("POST", self.path, body, headers)
            answer = connection.getresponse()
            status, reason = answer.status, answer.reason
            if is_late.is_set():
                # Headers that were cut off parse as if they were whole.
                raise TimeoutError
        except (OSError, http.client.HTTPException) as error:
            late = is_late.is_set() or isinstance(error, TimeoutError)
            why = f"no answer within {DEADLINE_S:g} s" if late else str(error) or type(error).__name__
            raise NotDeliveredError(why) from error
        finally:
            deadline.cancel()
            connection.close()
        if not 200 <= status <= 299:
            raise NotDeliveredError(f"status {status} {reason}: expected 200 to 299")


def pause_s(failures: int) -> float:
    """Return the seconds to wait after this many failed attempts in a row, at least one."""
    return min(FIRST_PAUSE_S * 2.0 ** min(failures - 1, 30), LONGEST_PAUSE_S)


def body(messages: Sequence[tuple[Alert, Status]], cluster: str | None, sent: datetime) -> bytes:
    """Return the JSON of a POST.

    Args:
        messages: Alerts, each with the status that is sent of it.
        cluster: The name of the cluster; None if it is not known.
        sent: The follower's clock, in UTC.
    """
    content: dict[str, Any] = {
        "version": VERSION,
        "sent": f"{sent.isoformat(timespec='milliseconds')}Z",
        "cluster": cluster,
        "alerts": [
            {"id": alert.id, "status": status.value, "cluster": cluster, **alert.shown}
            for alert, status in messages
        ],
    }
    return json.dumps(content).encode()
