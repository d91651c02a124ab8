"""A connection to a given broker; a client library would choose the broker itself."""

from __future__ import annotations

import io
import socket
import struct
from types import TracebackType
from typing import Any, Self

from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i32

_LENGTH = struct.Struct(">i")


def connect(address: str, timeout_s: float) -> socket.socket:
    """Open a connection to ``host:port``; it, and each answer, may take ``timeout_s`` seconds.

    Raises:
        OSError: The broker cannot be reached.
    """
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host, int(port)), timeout=timeout_s)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def receive(connection: socket.socket) -> bytearray:
    """Return the next answer without its length.

    Raises:
        ConnectionError: The broker closed the connection.
    """
    return _exactly(connection, _LENGTH.unpack(_exactly(connection, _LENGTH.size))[0])


def _exactly(connection: socket.socket, size: int) -> bytearray:
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(min(size - len(data), 1 << 20))
        if not piece:
            raise ConnectionError(f"the broker closed the connection after {len(data)} of {size} bytes")
        data += piece
    return data


class Connection:
    """A connection to one broker; a context manager.

    Args:
        address: The broker's ``host:port``.
        timeout_s: The longest time for the connection, and for each answer, in seconds.

    Raises:
        OSError: The broker cannot be reached.
    """

    def __init__(self, address: str, timeout_s: float) -> None:
        self._socket = connect(address, timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def ask(self, request: Any, response: type[Any]) -> Any:
        """Send a request and return its answer, which is of the class ``response``.

        Raises:
            OSError: The broker does not answer, or closed the connection.
        """
        body = io.BytesIO()
        header = request.__header_schema__(
            request_api_key=request.__api_key__,
            request_api_version=request.__version__,
            correlation_id=i32(0),
            client_id="bench",
        )
        entity_writer(type(header))(body, header)
        entity_writer(type(request))(body, request)
        self._socket.sendall(_LENGTH.pack(body.tell()) + body.getvalue())
        answer = bytes(receive(self._socket))
        _, header_bytes = entity_reader(response.__header_schema__)(answer, 0)
        return entity_reader(response)(answer, header_bytes)[0]
