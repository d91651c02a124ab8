"""Batches that stay in their file until a client reads them (``FileRecords.java`` of Kafka 2.8)."""

from __future__ import annotations

from collections.abc import Callable

from barnabas.broker.disk.files import read_exactly, send_file


class FileRecords:
    """A part of a segment's file.

    Attributes:
        on_failure: Called if the file cannot be read.

    Args:
        descriptor: Returns the file's current descriptor; a closed one ends the transfer.
        position: The position of the part in the file.
        size: Its bytes.
    """

    __slots__ = ("_descriptor", "_position", "_size", "on_failure")

    def __init__(self, descriptor: Callable[[], int], position: int, size: int) -> None:
        self._descriptor = descriptor
        self._position = position
        self._size = size
        self.on_failure: Callable[[OSError], object] = lambda _: None

    def __len__(self) -> int:
        """Return the bytes of the part."""
        return self._size

    def __bytes__(self) -> bytes:
        """Read all of it now; the result is shorter if the file ends before."""
        return read_exactly(self._descriptor(), self._size, self._position)

    def write_to(self, socket: int, position: int, size: int) -> int:
        """Send at most ``size`` bytes, from ``position`` of the part on, to a non-blocking socket.

        Returns:
            The number of bytes sent: 0 if the socket is full, or the file cannot be read, which ``read``
            reports.

        Raises:
            ConnectionError: The client has closed the socket.
        """
        try:
            return send_file(socket, self._descriptor(), self._position + position, size)
        except ConnectionError:
            raise
        except OSError:
            return 0

    def read(self, position: int, size: int) -> bytes:
        """Read exactly ``size`` bytes from ``position`` of the part on.

        Raises:
            OSError: The file is closed, ends before, or cannot be read.
        """
        at = self._position + position
        try:
            data = read_exactly(self._descriptor(), size, at)
        except OSError as error:
            self.on_failure(error)
            raise
        if len(data) < size:
            raise OSError(f"{len(data)} bytes at position {at} of a file of records, expected {size}")
        return data
