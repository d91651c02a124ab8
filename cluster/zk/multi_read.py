"""multiRead (opcode 22, ZooKeeper 3.6): many reads in one request and one answer.

The client library has no call for it, but carries any request that can serialize itself and read its answer.
The layout is ``MultiOperationRecord`` and ``MultiResponse`` of ZooKeeper's Java sources, in jute's encoding:
integers big-endian, strings and buffers with their length in front, -1 for null.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from barnabas.cluster.zk.operations import Node, Stat

MULTI_READ = 22
GET_DATA = 4
ERROR = -1

NO_NODE = -101
"""ZooKeeper's error code of a node that does not exist."""

_HEADER = struct.Struct("!iBi")  # operation, whether this ends the list, error
_INT = struct.Struct("!i")
_RESULT = struct.Struct("!iBii")  # a header, and how long the data is or which error it was
_STAT = struct.Struct("!qqqqiiiqiiq")
_READ = _HEADER.pack(GET_DATA, 0, -1)
STAT_BYTES = _STAT.size + _RESULT.size
"""What each node adds to an answer beside its data."""


class MultiReadError(ValueError):
    """The answer is not what multiRead promises; ``code`` is ZooKeeper's error code, 0 where malformed."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class MultiRead:
    """The request to read the data of these paths, in the form the client library carries.

    Attributes:
        type: The opcode.
        paths: Whole paths, the chroot included.
    """

    type = MULTI_READ

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = tuple(paths)

    def serialize(self) -> bytearray:
        """The request's body."""
        body = bytearray()
        for path in self.paths:
            encoded = path.encode()
            body += b"%b%b%b\0" % (_READ, _INT.pack(len(encoded)), encoded)  # not watched
        body += _HEADER.pack(ERROR, 1, -1)
        return body

    def deserialize(self, answer: bytes, offset: int) -> list[Node | None]:
        """The nodes in the order of ``paths``, None for each that is missing.

        Raises:
            MultiReadError: A read failed for another reason, or the answer is malformed.
        """
        nodes: list[Node | None] = []
        # A failover reads tens of thousands, on a thread that the event loop's waits for meanwhile.
        make = tuple.__new__
        for path in self.paths:
            kind, _, _, number = _RESULT.unpack_from(answer, offset)
            offset += _RESULT.size
            if kind != GET_DATA:
                _check_missing(path, kind, number)
                nodes.append(None)
                continue
            end = offset + number if number > 0 else offset
            czxid, mzxid, ctime, mtime, version, cversion, acl, owner, size, children, pzxid = (
                _STAT.unpack_from(answer, end)
            )
            stat = make(
                Stat,
                (version, czxid, mzxid, owner, pzxid, ctime, mtime, cversion, acl, size, children),
            )
            nodes.append(make(Node, (answer[offset:end], stat)))
            offset = end + _STAT.size
        return nodes


def _check_missing(path: str, kind: int, code: int) -> None:
    """Raise unless ``kind`` and ``code``, the answer to the read of ``path``, say that there is no node."""
    if kind != ERROR:
        raise MultiReadError(f"ZooKeeper answered operation {kind} to the read of {path}")
    if code != NO_NODE:
        raise MultiReadError(f"ZooKeeper refused to read {path}: error {code}", code)
