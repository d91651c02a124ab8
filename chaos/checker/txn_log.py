"""The reader of ZooKeeper's transaction log: every change of every znode, in order. Pure.

A log file is a header (``ZKLG``, version 2, database id) and records: checksum (Adler-32, 8 bytes), length,
body, ``B``; zeros, which the server allocates ahead, end it. A body is a header (session, cxid, zxid, time
in ms, type) and content that depends on the type; integers are big-endian, texts and buffers have their
length before them.
Source: ``zookeeper.jute`` and ``FileTxnLog`` of ZooKeeper 3.9.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

_FILE_HEADER = struct.Struct(">4siq")
_RECORD_HEADER = struct.Struct(">qi")
_TXN_HEADER = struct.Struct(">qiqqi")
_MAGIC, _VERSION = b"ZKLG", 2
_END_OF_RECORD = b"B"

_CREATE, _DELETE, _SET_DATA, _ERROR = 1, 2, 5, -1
_MULTI, _CREATE2, _CREATE_CONTAINER, _CREATE_TTL, _CLOSE_SESSION = 14, 15, 19, 21, -11
_CREATES = (_CREATE, _CREATE2, _CREATE_CONTAINER, _CREATE_TTL)


class TxnLogError(ValueError):
    """An error for bytes that are not a transaction log; the message says where and what was expected."""


class Change(StrEnum):
    """The kinds of change of a znode."""

    CREATE = "create"
    SET = "set"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class ZnodeChange:
    """A change of a znode.

    Attributes:
        change: The kind of change.
        path: The path of the znode.
        data: The new content; empty for a deletion.
    """

    change: Change
    path: str
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Txn:
    """A transaction.

    Attributes:
        zxid: The transaction's id, which ascends.
        time_ms: The time on the server in ms since 1970.
        session: The session that requested it.
        changes: The changes in order, without those of ephemeral znodes that end with their session.
        closes_session: Whether the transaction ends the session and deletes its ephemeral znodes.
    """

    zxid: int
    time_ms: int
    session: int
    changes: tuple[ZnodeChange, ...]
    closes_session: bool = False


def read_txns(content: bytes) -> Iterator[Txn]:
    """Read the transactions of a file that change znodes or end sessions, up to an incomplete record.

    Raises:
        TxnLogError: The content does not begin like a transaction log, or a complete record is damaged.
    """
    if len(content) < _FILE_HEADER.size:
        return
    magic, version, _ = _FILE_HEADER.unpack_from(content)
    if (magic, version) != (_MAGIC, _VERSION):
        raise TxnLogError(f"begins with {content[:8]!r}, expected {_MAGIC!r} and version {_VERSION}")
    at = _FILE_HEADER.size
    while at + _RECORD_HEADER.size <= len(content):
        checksum, length = _RECORD_HEADER.unpack_from(content, at)
        end = at + _RECORD_HEADER.size + length
        if length <= 0 or content[end : end + 1] != _END_OF_RECORD:
            return
        body = content[at + _RECORD_HEADER.size : end]
        if zlib.adler32(body) != checksum:
            raise TxnLogError(
                f"the record at byte {at} has checksum {zlib.adler32(body)}, expected {checksum}"
            )
        txn = _txn_of(body)
        if txn.changes or txn.closes_session:
            yield txn
        at = end + 1


def _txn_of(body: bytes) -> Txn:
    session, _, zxid, time_ms, kind = _TXN_HEADER.unpack_from(body)
    reader = _Jute(body, _TXN_HEADER.size)
    if kind == _MULTI:
        parts = [(reader.int32(), reader.buffer()) for _ in range(reader.int32())]
        # One operation that failed undoes all; those before it are logged as they were asked for
        # (``DataTree.processTxn``).
        is_failed = any(part == _ERROR for part, _ in parts)
        applied = () if is_failed else parts
        changes = tuple(change for part, data in applied for change in _changes(part, _Jute(data)))
    else:
        changes = _changes(kind, reader)
    return Txn(zxid, time_ms, session, changes, kind == _CLOSE_SESSION)


def _changes(kind: int, reader: _Jute) -> tuple[ZnodeChange, ...]:
    if kind in _CREATES:
        return (ZnodeChange(Change.CREATE, reader.text(), reader.buffer()),)
    if kind == _SET_DATA:
        return (ZnodeChange(Change.SET, reader.text(), reader.buffer()),)
    if kind == _DELETE:
        return (ZnodeChange(Change.DELETE, reader.text()),)
    return ()


class _Jute:
    """A reader of ZooKeeper's serialization (jute), from a given byte on."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data = data
        self._at = at

    def int32(self) -> int:
        (value,) = struct.unpack_from(">i", self._data, self._at)
        self._at += 4
        return int(value)

    def buffer(self) -> bytes:
        length = max(0, self.int32())  # -1 stands for null
        self._at += length
        return self._data[self._at - length : self._at]

    def text(self) -> str:
        return self.buffer().decode()
