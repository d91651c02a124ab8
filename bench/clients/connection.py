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


class Connection:
    """A connection to one broker; a context manager.

    Args:
        address: The broker's ``host:port``.
        timeout_s: The longest time for the connection, and for each answer, in seconds.

    Raises:
        OSError: The broker cannot be reached.
    """

    def __init__(self, address: str, timeout_s: float) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=timeout_s)
        self._answers = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._answers.close()
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
        answer = self._received(*_LENGTH.unpack(self._received(_LENGTH.size)))
        _, header_bytes = entity_reader(response.__header_schema__)(answer, 0)
        return entity_reader(response)(answer, header_bytes)[0]

    def _received(self, count: int) -> bytes:
        received = self._answers.read(count)
        if len(received) < count:
            raise ConnectionError(f"the broker closed the connection after {len(received)} of {count} bytes")
        return received
