"""The request multiRead (opcode 22, ZooKeeper 3.6), which reads many nodes at once.

kazoo has no call for it, but sends any request object that can serialize itself and parse its response. The
layout is ``MultiOperationRecord`` and ``MultiResponse`` of ZooKeeper's Java sources in jute's encoding:
integers are big-endian, strings and buffers follow their length, -1 is null.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from barnabas.cluster.zk.client.operations import Node, Stat

MULTI_READ = 22
GET_DATA = 4
ERROR = -1

NO_NODE = -101
"""The error code of ZooKeeper for a node that does not exist."""

_HEADER = struct.Struct("!iBi")  # operation, end of the list, error
_INT = struct.Struct("!i")
_RESULT = struct.Struct("!iBii")  # a header, and the length of the data or the error
_STAT = struct.Struct("!qqqqiiiqiiq")
_READ = _HEADER.pack(GET_DATA, 0, -1)
STAT_BYTES = _STAT.size + _RESULT.size
"""The bytes of each node in a response in addition to its data."""


class MultiReadError(ValueError):
    """An error of a multiRead; ``code`` is ZooKeeper's error code, 0 for a malformed response."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class MultiRead:
    """A multiRead request in the form that kazoo sends.

    Attributes:
        type: The opcode.
        paths: The paths with the chroot.
    """

    type = MULTI_READ

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = tuple(paths)

    def serialize(self) -> bytearray:
        """Serialize the body of the request."""
        body = bytearray()
        for path in self.paths:
            encoded = path.encode()
            body += b"%b%b%b\0" % (_READ, _INT.pack(len(encoded)), encoded)  # not watched
        body += _HEADER.pack(ERROR, 1, -1)
        return body

    def deserialize(self, answer: bytes, offset: int) -> list[Node | None]:
        """Parse a response: the nodes in the order of ``paths``, None for each missing one.

        Raises:
            MultiReadError: A read failed for another reason, or the response is malformed.
        """
        nodes: list[Node | None] = []
        # A failover reads tens of thousands of nodes, and this thread blocks the event loop's meanwhile.
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
    """Raise an error unless ``kind`` and ``code`` mean that the node ``path`` does not exist."""
    if kind != ERROR:
        raise MultiReadError(f"ZooKeeper answered operation {kind} to the read of {path}")
    if code != NO_NODE:
        raise MultiReadError(f"ZooKeeper refused to read {path}: error {code}", code)
