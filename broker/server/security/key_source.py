"""The source of an issuer's keys: a JSON Web Key Set behind an ``https`` or ``file`` URL, read periodically.

Source: ``RefreshingHttpsJwks`` of Kafka 3.1; KIP-768.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import ssl
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

import structlog

from barnabas.broker.server.security.signed_tokens import KeySet, KeySetError, parse_keys

_log = structlog.get_logger("org.apache.kafka.common.security.oauthbearer.RefreshingHttpsJwks")

MAX_BYTES = 1_048_576
"""The largest set that is read."""

TIMEOUT_S = 10.0
"""The timeout of a connection and of each read, seconds."""

DEADLINE_S = 15.0
"""The longest read, seconds; a server may send a byte now and then."""

EXPEDITED_S = 10.0
"""The least time between two reads because of unknown keys, seconds: clients that nobody knows cause them."""

FIRST_RETRY_S, LAST_RETRY_S = 0.1, 10.0
"""The first and the longest pause after a failure, seconds; pauses double in between."""

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

URLS = "an https URL, a file URL with an absolute path, or an http URL of this machine"
"""The URLs that are allowed, as the end of "must be ...". Redirects are not followed."""


def is_allowed(url: str) -> bool:
    """Return whether keys may be read from a URL: only where nobody on the way can replace them."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    if parts.username is not None:
        return False  # log lines and DescribeConfigs show the URL
    match parts.scheme:
        case "file":
            return parts.netloc in {"", "localhost"} and parts.path.startswith("/")
        case "https":
            return bool(parts.hostname)
        case "http":
            return parts.hostname in _LOOPBACK
        case _:
            return False


def fetch(url: str) -> bytes:
    """Read a URL that `is_allowed`, as long as it takes.

    Raises:
        OSError: It cannot be read, or the server does not answer 200.
        KeySetError: It has more than ``MAX_BYTES``.
    """
    parts = urlsplit(url)
    if parts.scheme == "file":
        with Path(unquote(parts.path)).open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    else:
        text = _get(parts)
    if len(text) > MAX_BYTES:
        raise KeySetError(f"expected at most {MAX_BYTES} bytes")
    return text


def _get(parts: SplitResult) -> bytes:
    host = str(parts.hostname)
    connection = (
        http.client.HTTPSConnection(host, parts.port, timeout=TIMEOUT_S, context=ssl.create_default_context())
        if parts.scheme == "https"
        else http.client.HTTPConnection(host, parts.port, timeout=TIMEOUT_S)
    )
    try:
        query = f"?{parts.query}" if parts.query else ""
        connection.request("GET", f"{parts.path or '/'}{query}", headers={"Accept": "application/json"})
        answer = connection.getresponse()
        if answer.status != http.client.OK:
            raise ConnectionError(f"the server answered {answer.status} {answer.reason}")
        return answer.read(MAX_BYTES + 1)
    except http.client.HTTPException as error:
        raise ConnectionError(f"the server's answer is no HTTP: {type(error).__name__}") from None
    finally:
        connection.close()


def _in_daemon_thread(work: Callable[[], bytes]) -> asyncio.Future[bytes]:
    """Return the result of blocking work on a thread that the end of the process does not wait for."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[bytes] = loop.create_future()

    def settle(settled: Callable[[], None]) -> None:
        if not result.done():
            settled()

    def run() -> None:
        try:
            text = work()
        except (OSError, KeySetError) as error:
            settled = partial(result.set_exception, error)
        else:
            settled = partial(result.set_result, text)
        # The loop may have closed while the server was silent.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, settled)

    threading.Thread(target=run, name="keys of tokens", daemon=True).start()
    return result


class KeySource:
    """The reader of one set of keys.

    Args:
        url: Where it is; one that `is_allowed`.
        refresh_ms: The interval at which it is read.
        read: Reads the URL; called on a thread.

    Attributes:
        keys: The keys that were read last; they stay if a later read fails.
    """

    def __init__(self, url: str, refresh_ms: int, read: Callable[[str], bytes] = fetch) -> None:
        self._url = url
        self._refresh_s = refresh_ms / 1000
        self._read = read
        self._wanted = asyncio.Event()
        self._tried = asyncio.Event()
        self.keys = KeySet(on_unknown=self._wanted.set)

    async def tried(self) -> None:
        """Return when the keys have been read, or could not be read, for the first time."""
        await self._tried.wait()

    async def run(self) -> None:
        """Read the keys now, at each interval, and soon after a token named an unknown one; never returns."""
        while True:
            self._wanted.clear()
            await self._load()
            await asyncio.sleep(min(EXPEDITED_S, self._refresh_s))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, self._refresh_s - EXPEDITED_S)):
                    await self._wanted.wait()

    async def _load(self) -> None:
        """Read the keys, and repeat that until it succeeds."""
        pause_s = FIRST_RETRY_S
        while True:
            try:
                async with asyncio.timeout(DEADLINE_S):
                    text = await _in_daemon_thread(partial(self._read, self._url))
                self.keys.keys = parse_keys(text)
            except (OSError, KeySetError) as error:
                reason = str(error) or f"no answer within {DEADLINE_S:g} s"
                _log.warning(f"Keys cannot be read from {self._url}, and only known ones are used: {reason}")
            else:
                return
            finally:
                self._tried.set()
            await asyncio.sleep(pause_s)
            pause_s = min(LAST_RETRY_S, 2 * pause_s)
