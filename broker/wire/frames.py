"""Requests and responses as kio's entities.

The guard checks the bytes before they become an entity; an entity becomes bytes without large copies. A frame
is an int32 size and that many bytes: a header and a body. kio chooses the header of each version itself
(ApiVersions answers always have header 0; KIP-511).
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from functools import cache
from math import inf
from typing import Any, NamedTuple, Protocol, cast

from kio.serial import entity_reader

from barnabas.broker.wire.apis import APIS, Api
from barnabas.broker.wire.guard import guard
from barnabas.broker.wire.pieces import Steps, read_in_pieces
from barnabas.broker.wire.schemas import REQUEST, RESPONSE, load_payload_module, load_schema
from barnabas.broker.wire.writing import Piece, TransferableRecords, cut_message, write, write_in_steps
from barnabas.cluster.model.principal import ANONYMOUS, KafkaPrincipal

SIZE_BYTES = 4
"""The size of the int32 before each frame, which has the frame's size without itself."""

PREFIX_BYTES = 8
"""The part of the request header that has the same place in all its versions: key, version, correlation id.
"""

BY_REFERENCE_BYTES = 16_384
"""The length from which a field is sent by reference; shorter ones are copied together."""

NO_THROTTLE = dt.timedelta(0)
"""The throttle time of an answer whose client need not wait."""

Body = Any
"""A request or response entity of kio; their classes are chosen by number at run time."""

Bytes = bytes | bytearray | memoryview

Chunk = Bytes | TransferableRecords
"""A part of the output: bytes, or records that are sent from their file to the socket."""

_MILLISECOND = dt.timedelta(milliseconds=1)
_PREFIX = struct.Struct(">hhi")
_SIZE = struct.Struct(">i")


class UnreadableFrameError(ValueError):
    """An error of a frame that is no request of the API and version in it."""


class Prefix(NamedTuple):
    """The start of every request, whatever its API and version.

    Attributes:
        api_key: The API.
        api_version: The version.
        correlation_id: The number that the answer repeats.
    """

    api_key: int
    api_version: int
    correlation_id: int


class Spent(Protocol):
    """The time spent on a request, of which quotas take account."""

    def decide(self) -> float:
        """Return the seconds spent until now, for the handler to record; later ones throttle nobody."""
        ...

    def exempt(self) -> None:
        """Count the request as one that never throttles its client."""
        ...


class Progress:
    """The progress of a request, which its handler reports; the base class ignores it.

    Attributes:
        spent: The time spent on the request; None if no client has a quota.
    """

    __slots__ = ()

    spent: Spent | None = None

    def carried_out(self) -> None:
        """Report that only the answer is pending: the next request may start, the content is free."""

    async def begin_long_answer(self) -> None:
        """Wait until few other long answers are being built: it takes many times their bytes."""


UNFOLLOWED = Progress()


@dataclass(frozen=True, slots=True)
class Request:
    """A request as its handler gets it.

    Attributes:
        api: The API.
        version: The version of the request and of its answer.
        correlation_id: The number that the answer repeats.
        client_id: The name that the client gives itself, or None.
        listener: The name of the listener that received it.
        body: kio's entity of the request.
        client_host: The address that it came from, without the port; "" if that is unknown.
        principal: The identity of its sender.
        sent_at: When its client sent it at the latest, in s of ``time.monotonic``; infinite if unknown.
        progress: Its progress, which the handler reports.
    """

    api: Api
    version: int
    correlation_id: int
    client_id: str | None
    listener: str
    body: Body
    client_host: str = ""
    principal: KafkaPrincipal = ANONYMOUS
    sent_at: float = inf
    progress: Progress = UNFOLLOWED

    def answer(self, name: str, /, **values: Any) -> Any:
        """Return an entity of this request's response module.

        Args:
            name: The class, such as ``MetadataResponseTopic``; the names are the same in all versions.
            values: Its fields; fields that this version lacks are left out, as Kafka does with fields that
                its schemas mark as ignorable.
        """
        return shape(self.api.key, self.version, name)(values)

    def with_body(self, **changes: Any) -> Request:
        """Return the request with other values in these fields of its body."""
        return replace(self, body=replace(self.body, **changes))

    def without_body(self) -> Request:
        """Return the part that the answer needs, without the request's content."""
        return replace(self, body=None)


def read_prefix(frame: Bytes, at: int = 0) -> Prefix:
    """Parse the first eight bytes of a request.

    Raises:
        UnreadableFrameError: The frame is shorter.
    """
    try:
        return Prefix(*_PREFIX.unpack_from(frame, at))
    except struct.error:
        raise UnreadableFrameError(
            f"frame of {len(frame) - at} bytes; expected {PREFIX_BYTES} at least"
        ) from None


def decode(
    frame: memoryview,
    listener: str,
    client_host: str = "",
    principal: KafkaPrincipal = ANONYMOUS,
    sent_at: float = inf,
    *,
    progress: Progress = UNFOLLOWED,
) -> Request:
    """Decode a request of a served API and version.

    The record fields of the body are copies; ``frame`` may be overwritten afterwards.

    Args:
        frame: Header and body, read-only (kio refuses a writable buffer).
        listener: The name of the listener that received it.
        client_host: The address of its sender, without the port.
        principal: The identity of its sender.
        sent_at: When its client sent it at the latest, in s of ``time.monotonic``.
        progress: The progress that its handler reports.

    Raises:
        UnreadableFrameError: The bytes are no such request, or hostile.
    """
    prefix = read_prefix(frame)
    api = APIS[prefix.api_key]
    schema, header_schema, read_header, read_body = _request_codec(prefix.api_key, prefix.api_version)
    try:
        data, at = guard(header_schema, frame, 0)
        header, size = read_header(data, at)
        data, at = guard(schema, data, at + size)
        body, _ = read_body(data, at)
    except (
        Exception
    ) as error:  # kio raises these errors of its readers: ValueError, KeyError, RuntimeError, OverflowError
        raise UnreadableFrameError(
            f"{api.key.name} {prefix.api_version}: {type(error).__name__}: {error}"
        ) from error
    version, number = prefix.api_version, prefix.correlation_id
    sender = client_host, principal
    return Request(api, version, number, header.client_id, listener, body, *sender, sent_at, progress)


def decode_in_pieces(
    frame: memoryview,
    listener: str,
    client_host: str = "",
    principal: KafkaPrincipal = ANONYMOUS,
    sent_at: float = inf,
    *,
    progress: Progress = UNFOLLOWED,
) -> Steps[Request]:
    """Decode a request as ``decode`` does, in steps; ``frame`` must not change until the last one.

    A request of few elements is decoded in one step, however long its records are.

    Raises:
        UnreadableFrameError: The bytes are no such request, or hostile.
    """
    prefix = read_prefix(frame)
    api = APIS[prefix.api_key]
    schema, header_schema, read_header, _ = _request_codec(prefix.api_key, prefix.api_version)
    try:
        data, at = guard(header_schema, frame, 0)
        header, size = read_header(data, at)
        body = yield from read_in_pieces(schema, data, at + size)
    except Exception as error:  # the same errors as in ``decode``
        raise UnreadableFrameError(
            f"{api.key.name} {prefix.api_version}: {type(error).__name__}: {error}"
        ) from error
    version, number = prefix.api_version, prefix.correlation_id
    sender = client_host, principal
    return Request(api, version, number, header.client_id, listener, body, *sender, sent_at, progress)


def milliseconds(duration: dt.timedelta) -> int:
    """Return the whole milliseconds of one of kio's durations."""
    return duration // _MILLISECOND


def encode(correlation_id: int, body: Body) -> list[Chunk]:
    """Encode a response, with its size, as chunks to be written one after the other.

    Long fields (the records of a fetch) are chunks by reference, not copies: they must not change until they
    are written. Records that lie in a file are always such a chunk.
    """
    pieces = _header(correlation_id, body)
    write(pieces, body)
    chunks: list[Chunk] = [_SIZE.pack(sum(map(len, pieces)))]
    _join(pieces, chunks)
    return chunks


def encode_in_pieces(correlation_id: int, body: Body) -> Steps[list[Chunk]]:
    """Encode a response in steps; ``body`` must not change until the last one.

    The bytes are those of ``encode``, cut into chunks at other places.
    """
    pieces = _header(correlation_id, body)
    chunks: list[Chunk] = []
    for _ in write_in_steps(pieces, body):
        _join(pieces, chunks)
        pieces.clear()
        yield
    _join(pieces, chunks)
    return [_SIZE.pack(sum(map(len, chunks))), *chunks]


def _header(correlation_id: int, body: Body) -> list[Piece]:
    schema = type(body).__header_schema__
    pieces: list[Piece] = []
    write(pieces, schema(correlation_id=correlation_id))
    return pieces


def _join(pieces: Iterable[Piece], chunks: list[Chunk]) -> None:
    """Add ``pieces`` to ``chunks``, with short ones copied together."""
    together: list[Bytes] = []
    if chunks and isinstance(last := chunks[-1], bytes) and len(last) < BY_REFERENCE_BYTES:
        together.append(last)
        chunks.pop()
    for piece in pieces:
        if isinstance(piece, bytes | bytearray | memoryview) and len(piece) < BY_REFERENCE_BYTES:
            together.append(piece)
        else:
            chunks += (b"".join(together), piece)
            together = []
    if together:
        chunks.append(b"".join(together))


class _RequestCodec(NamedTuple):
    schema: type[Any]
    header_schema: type[Any]
    read_header: Callable[[memoryview, int], tuple[Any, int]]
    read_body: Callable[[memoryview, int], tuple[Any, int]]


@cache
def _request_codec(api_key: int, version: int) -> _RequestCodec:
    schema = load_schema(api_key, version, REQUEST)
    header_schema = cast("type[Any]", schema.__header_schema__)
    return _RequestCodec(schema, header_schema, entity_reader(header_schema), entity_reader(schema))


@cache
def shape(api_key: int, version: int, name: str) -> Callable[[dict[str, Any]], Any]:
    """Return a function that builds an entity of one version from values for the fields of all versions."""
    schema = getattr(load_payload_module(api_key, version, RESPONSE), name)
    known = frozenset(field.name for field in fields(schema))

    def build(values: dict[str, Any]) -> Any:
        message = values.get("error_message")
        if message is not None:
            values["error_message"] = cut_message(message)
        if values.keys() <= known:
            return schema(**values)
        return schema(**{name: value for name, value in values.items() if name in known})

    return build
