"""multiRead (opcode 22, ZooKeeper 3.6): many reads in one request and one answer.

The client library has no call for it, but carries any request that can serialize itself and read its answer.
The layout is ``MultiOperationRecord`` and ``MultiResponse`` of ZooKeeper's Java sources, in jute's encoding:
integers big-endian, strings and buffers with their length in front, -1 for null.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from cluster.zk.operations import Node, Stat

MULTI_READ = 22
GET_DATA = 4
ERROR = -1

NO_NODE = -101
"""ZooKeeper's error code of a node that does not exist."""

_HEADER = struct.Struct("!iBi")  # operation, whether this ends the list, error
_INT = struct.Struct("!i")
_STAT = struct.Struct("!qqqqiiiqiiq")
STAT_BYTES = _STAT.size + _HEADER.size + _INT.size
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
            body += _HEADER.pack(GET_DATA, 0, -1)
            body += _INT.pack(len(encoded)) + encoded + b"\0"  # not watched
        body += _HEADER.pack(ERROR, 1, -1)
        return body

    def deserialize(self, answer: bytes, offset: int) -> list[Node | None]:
        """The nodes in the order of ``paths``, None for each that is missing.

        Raises:
            MultiReadError: A read failed for another reason, or the answer is malformed.
        """
        nodes: list[Node | None] = []
        for path in self.paths:
            kind, _, _ = _HEADER.unpack_from(answer, offset)
            offset += _HEADER.size
            if kind == GET_DATA:
                node, offset = _node(answer, offset)
                nodes.append(node)
            elif kind == ERROR:
                (code,) = _INT.unpack_from(answer, offset)
                offset += _INT.size
                if code != NO_NODE:
                    raise MultiReadError(f"ZooKeeper refused to read {path}: error {code}", code)
                nodes.append(None)
            else:
                raise MultiReadError(f"ZooKeeper answered operation {kind} to the read of {path}")
        return nodes


def _node(answer: bytes, offset: int) -> tuple[Node, int]:
    (length,) = _INT.unpack_from(answer, offset)
    offset += _INT.size
    end = offset + max(length, 0)
    czxid, mzxid, ctime, mtime, version, cversion, acl, owner, size, children, pzxid = _STAT.unpack_from(
        answer, end
    )
    stat = Stat(version, czxid, mzxid, owner, pzxid, ctime, mtime, cversion, acl, size, children)
    return Node(bytes(answer[offset:end]), stat), end + _STAT.size
