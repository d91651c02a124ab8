"""The gRPC options of all servers and channels of the cluster.

gRPC's defaults do not suit a cluster with failovers: two servers can share a port unnoticed, a channel waits
up to minutes before it reconnects, a peer that vanished is noticed after hours, and messages over 4 MB are
refused.
Source of the keys: gRPC core, ``include/grpc/impl/channel_arg_names.h``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import grpc
import grpc.aio

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""The largest message in bytes.

Control requests are split far below it; a fetch response may exceed ``replica.fetch.response.max.bytes`` by
one batch (``message.max.bytes``).
"""

FRAME_BYTES = 4 * 1024 * 1024
"""The largest HTTP/2 frame in bytes (gRPC's default is 16 KB)."""

WINDOW_BYTES = 8 * 1024 * 1024
"""The bytes of a stream that a side may send before the other has read them."""

RECONNECT_BACKOFF_MS = (50, 100, 500)
"""The first, the least and the longest wait before reconnecting, in milliseconds."""

CORRELATION_ID_KEY = "correlation-id"
"""The metadata key of a control request's correlation id (in Kafka, part of the header)."""

_INT32_MAX = 2**31 - 1

UNLIMITED_CONNECTIONS = _INT32_MAX - 1
"""The largest limit of connections that gRPC accepts; a larger one aborts the process."""

_MOST_DIGITS = 10
"""The digits of the largest number of 32 bits; longer texts are refused without parsing."""

_NAMED = 40
"""The most characters of a bad value in an error message."""

Options = list[tuple[str, int | str]]

_detours: dict[str, str] = {}
"""The address to connect to instead of another one, for tests that cut links."""

_credentials: list[Callable[[], grpc.ChannelCredentials]] = []
"""The source of new channels' credentials; empty if channels are not encrypted."""


def take_credentials(source: Callable[[], grpc.ChannelCredentials] | None) -> None:
    """Take the source of the credentials of all new channels of this process; None for no encryption."""
    _credentials[:] = [] if source is None else [source]


def current_credentials() -> grpc.ChannelCredentials | None:
    """Return the credentials of new channels, None without encryption; they change with their stores."""
    return _credentials[0]() if _credentials else None


def take_detours(detours: Mapping[str, str]) -> None:
    """Replace the detours of this process; each maps a ``host:port`` to another one."""
    _detours.clear()
    _detours.update(detours)


def correlation_id_of(metadata: Iterable[tuple[str, str | bytes]] | None) -> int:
    """Return the correlation id of a control request; 0 if the caller sent none.

    Raises:
        ValueError: The value is not an integer of 32 bits.
    """
    sent = dict(metadata or ()).get(CORRELATION_ID_KEY, "0")
    if isinstance(sent, str) and sent.isascii() and sent.isdigit() and len(sent) <= _MOST_DIGITS:
        number = int(sent)
        if number <= _INT32_MAX:
            return number
    raise ValueError(f"{CORRELATION_ID_KEY} is {sent[:_NAMED]!r}, expected a whole number of 32 bits")


def server_options(
    session_timeout_ms: int, most_connections: int = UNLIMITED_CONNECTIONS, max_idle_ms: int = -1
) -> Options:
    """Return the options of a server whose peers use ``channel_options``.

    Args:
        session_timeout_ms: ``zookeeper.session.timeout.ms``.
        most_connections: The most connections. Further ones are closed at once, so that silent connections
            cannot use up all file descriptors.
        max_idle_ms: The time after which a connection without a call is closed, and a channel opens another
            one for its next call; below 0 for no limit.
    """
    interval, timeout = _keepalive_ms(session_timeout_ms)
    return [
        ("grpc.so_reuseport", 0),
        ("grpc.max_allowed_incoming_connections", most_connections),
        (
            "grpc.max_connection_idle_ms",
            _INT32_MAX if max_idle_ms < 0 else min(max(max_idle_ms, 1), _INT32_MAX),
        ),
        *_sizes(),
        ("grpc.keepalive_time_ms", interval),
        ("grpc.keepalive_timeout_ms", timeout),
        ("grpc.keepalive_permit_without_calls", 1),
        # Our own pings are frequent; without these two options the server would close the connection for too
        # many pings.
        ("grpc.http2.min_ping_interval_without_data_ms", 100),
        ("grpc.http2.max_ping_strikes", 0),
    ]


def channel_options(session_timeout_ms: int) -> Options:
    """Return the options of a channel that notices a vanished peer before its ZooKeeper session expires.

    Args:
        session_timeout_ms: ``zookeeper.session.timeout.ms``.
    """
    first, least, greatest = RECONNECT_BACKOFF_MS
    interval, timeout = _keepalive_ms(session_timeout_ms)
    return [
        *_sizes(),
        ("grpc.initial_reconnect_backoff_ms", first),
        ("grpc.min_reconnect_backoff_ms", least),
        ("grpc.max_reconnect_backoff_ms", greatest),
        ("grpc.keepalive_time_ms", interval),
        ("grpc.keepalive_timeout_ms", timeout),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        # A channel belongs to one broker epoch, so it must not inherit the back-off of an earlier channel to
        # the same address; and senders decide about retries themselves.
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_retries", 0),
        ("grpc.enable_http_proxy", 0),
    ]


def open_channel(host: str, port: int, session_timeout_ms: int) -> grpc.aio.Channel:
    """Open a channel to ``host:port``, which connects when it is first used.

    It is encrypted if this process has credentials. Then the server's certificate must name ``host``, and
    must be trusted. A detour of the address, if there is one, is connected to instead
    (``inter.broker.detours``).
    """
    named = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    target = _detours.get(named, named)
    options = channel_options(session_timeout_ms)
    credentials = current_credentials()
    if credentials is None:
        return grpc.aio.insecure_channel(target, options=options)
    if target != named:
        options.append(("grpc.ssl_target_name_override", host))
    return grpc.aio.secure_channel(target, credentials, options=options)


def _sizes() -> Options:
    return [
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        # A megabyte of records fits into one frame instead of 64, and the window has the size of a response
        # from the start instead of growing with gRPC's pings.
        ("grpc.http2.max_frame_size", FRAME_BYTES),
        ("grpc.http2.lookahead_bytes", WINDOW_BYTES),
        ("grpc.http2.bdp_probe", 0),
    ]


def _keepalive_ms(session_timeout_ms: int) -> tuple[int, int]:
    """Return the interval and timeout of keepalive pings, together two thirds of a session."""
    third = max(session_timeout_ms // 3, 1)
    return third, third
