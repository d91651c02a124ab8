"""The one table of gRPC options, for every server and every channel of the cluster.

gRPC's own defaults hurt a cluster that fails over: two servers may share a port in silence, a channel whose
peer was away waits up to minutes before it dials again, a peer that vanished without a word is noticed after
hours, and messages over 4 MB are refused.
Source of the keys: gRPC core, ``include/grpc/impl/channel_arg_names.h``.
"""

from __future__ import annotations

from collections.abc import Iterable

import grpc.aio

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""The largest message either side sends or takes, in bytes.

Control requests are chunked far below it; a fetch answer may exceed ``replica.fetch.response.max.bytes`` by
one batch (``message.max.bytes``).
"""

FRAME_BYTES = 4 * 1024 * 1024
"""The largest HTTP/2 frame either side takes, in bytes (16 KB unless told)."""

WINDOW_BYTES = 8 * 1024 * 1024
"""How much of a stream either side may send before the other has read it, in bytes."""

RECONNECT_BACKOFF_MS = (50, 100, 500)
"""First, least and greatest wait before a lost peer is dialled again, in milliseconds."""

CORRELATION_ID_KEY = "correlation-id"
"""The call metadata under which a control request carries its number (in Kafka: the header)."""

_INT32_MAX = 2**31 - 1

UNLIMITED_CONNECTIONS = _INT32_MAX - 1
"""The largest limit that gRPC takes: one more aborts the process."""

_MOST_DIGITS = 10
"""Those of the largest number of 32 bits; the text that is longer is not even counted."""

_NAMED = 40
"""So many characters of a bad value are named."""

Options = list[tuple[str, int]]


def correlation_id_of(metadata: Iterable[tuple[str, str | bytes]] | None) -> int:
    """The number of a control request; 0 where its caller gave none.

    Raises:
        ValueError: What stands there is no whole number of 32 bits.
    """
    told = dict(metadata or ()).get(CORRELATION_ID_KEY, "0")
    if isinstance(told, str) and told.isascii() and told.isdigit() and len(told) <= _MOST_DIGITS:
        number = int(told)
        if number <= _INT32_MAX:
            return number
    raise ValueError(f"{CORRELATION_ID_KEY} is {told[:_NAMED]!r}, expected a whole number of 32 bits")


def server_options(session_timeout_ms: int, most_connections: int = UNLIMITED_CONNECTIONS) -> Options:
    """The options of a server whose peers send keepalive pings as ``channel_options`` has them do.

    Args:
        session_timeout_ms: ``zookeeper.session.timeout.ms``.
        most_connections: One more is closed at once: who connects and says nothing must not take all
            descriptors.
    """
    interval, timeout = _keepalive_ms(session_timeout_ms)
    return [
        ("grpc.so_reuseport", 0),
        ("grpc.max_allowed_incoming_connections", most_connections),
        *_sizes(),
        ("grpc.keepalive_time_ms", interval),
        ("grpc.keepalive_timeout_ms", timeout),
        ("grpc.keepalive_permit_without_calls", 1),
        # Our own pings come often: without these two the server would take them for an attack and hang up.
        ("grpc.http2.min_ping_interval_without_data_ms", 100),
        ("grpc.http2.max_ping_strikes", 0),
    ]


def channel_options(session_timeout_ms: int) -> Options:
    """The options of a channel that notices a vanished peer well before the peer's ZooKeeper session ends.

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
        # A channel stands for one life of one broker: it must not inherit the back-off of an earlier channel
        # to the same address, and retrying is decided by whoever sends.
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_retries", 0),
        ("grpc.enable_http_proxy", 0),
    ]


def open_channel(host: str, port: int, session_timeout_ms: int) -> grpc.aio.Channel:
    """A channel without encryption to ``host:port``; it dials when it is first used."""
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return grpc.aio.insecure_channel(target, options=channel_options(session_timeout_ms))


def _sizes() -> Options:
    return [
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        # A megabyte of records in one frame, not in sixty-four; a window as wide as an answer from the start,
        # where gRPC would feel its way up to it with pings.
        ("grpc.http2.max_frame_size", FRAME_BYTES),
        ("grpc.http2.lookahead_bytes", WINDOW_BYTES),
        ("grpc.http2.bdp_probe", 0),
    ]


def _keepalive_ms(session_timeout_ms: int) -> tuple[int, int]:
    """Interval and patience of keepalive pings: together two thirds of a session."""
    third = max(session_timeout_ms // 3, 1)
    return third, third
