import struct
import zlib

import pytest

from barnabas.chaos.checker.txn_log import Change, Txn, TxnLogError, ZnodeChange, read_txns

HEADER = struct.pack(">4siq", b"ZKLG", 2, 0)
SESSION = 0x10002269CD80000


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack(">i", len(data)) + data


def create(path, data=b""):
    acl = struct.pack(">ii", 1, 31) + text("world") + text("anyone")
    return text(path) + text(data) + acl + struct.pack(">bi", 0, 1)


def set_data(path, data):
    return text(path) + text(data) + struct.pack(">i", 4)


def multi(*parts):
    return struct.pack(">i", len(parts)) + b"".join(
        struct.pack(">i", kind) + text(body) for kind, body in parts
    )


def record(zxid, kind, body=b""):
    whole = struct.pack(">qiqqi", SESSION, 1, zxid, 1_000 + zxid, kind) + body
    return struct.pack(">qi", zlib.adler32(whole), len(whole)) + whole + b"B"


def txn(zxid, *changes, closes_session=False):
    return Txn(zxid, 1_000 + zxid, SESSION, changes, closes_session)


def test_each_kind_of_transaction_is_read():
    content = HEADER + b"".join(
        [
            record(1, -10, struct.pack(">i", 6000)),  # a session begins: nothing changes
            record(2, 1, create("/a", b"x")),
            record(3, 5, set_data("/a", b"y")),
            record(4, 2, text("/a")),
            record(5, -1, struct.pack(">i", -103)),  # a transaction that failed
            record(6, -11),
            record(7, 15, create("/b")),
        ]
    )
    assert list(read_txns(content)) == [
        txn(2, ZnodeChange(Change.CREATE, "/a", b"x")),
        txn(3, ZnodeChange(Change.SET, "/a", b"y")),
        txn(4, ZnodeChange(Change.DELETE, "/a")),
        txn(6, closes_session=True),
        txn(7, ZnodeChange(Change.CREATE, "/b")),
    ]


def test_a_transaction_of_several_operations_is_one_and_its_checks_change_nothing():
    check = (13, text("/controller_epoch") + struct.pack(">i", 3))
    body = multi(check, (5, set_data("/state", b"s")), (1, create("/c", b"d")))
    assert list(read_txns(HEADER + record(9, 14, body))) == [
        txn(9, ZnodeChange(Change.SET, "/state", b"s"), ZnodeChange(Change.CREATE, "/c", b"d"))
    ]


def test_of_a_transaction_that_failed_no_operation_counts():
    # The server keeps the operations before the one that failed (here for a version) as they were asked for.
    failed = multi((5, set_data("/state", b"s")), (-1, struct.pack(">i", -103)), (1, create("/c")))
    content = HEADER + record(9, 14, failed) + record(10, 5, set_data("/state", b"t"))
    assert list(read_txns(content)) == [txn(10, ZnodeChange(Change.SET, "/state", b"t"))]


@pytest.mark.parametrize(
    "rest", [b"", bytes(64), record(2, 2, text("/a"))[:-1], record(2, 2, text("/a"))[:20]]
)
def test_zeros_or_an_unfinished_record_end_it(rest):
    assert [txn.zxid for txn in read_txns(HEADER + record(1, 2, text("/a")) + rest)] == [1]


def test_an_empty_file_has_none():
    assert list(read_txns(b"")) == []


def test_what_is_no_log_is_refused():
    with pytest.raises(TxnLogError, match="expected b'ZKLG' and version 2"):
        list(read_txns(b"PK\3\4" + bytes(20)))


def test_a_damaged_record_is_refused():
    damaged = bytearray(HEADER + record(1, 2, text("/a")))
    damaged[-3] ^= 1
    with pytest.raises(TxnLogError, match="the record at byte 16 has checksum"):
        list(read_txns(bytes(damaged)))


def test_null_data_reads_as_none_at_all():
    body = text("/a") + struct.pack(">i", -1)
    assert list(read_txns(HEADER + record(1, 1, body))) == [txn(1, ZnodeChange(Change.CREATE, "/a", b""))]
