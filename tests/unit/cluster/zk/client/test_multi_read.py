from __future__ import annotations

import struct

import pytest
from kazoo.protocol.serialization import GetData, MultiHeader

from barnabas.cluster.zk.client.multi_read import STAT_BYTES, MultiRead, MultiReadError
from barnabas.cluster.zk.client.operations import Node, Stat

HEADER = struct.Struct("!iBi")
STAT = struct.Struct("!qqqqiiiqiiq")


def found(data: bytes | None, version: int, czxid: int, mzxid: int, owner: int) -> bytes:
    length = struct.pack("!i", -1) if data is None else struct.pack("!i", len(data)) + data
    return HEADER.pack(4, 0, 0) + length + STAT.pack(czxid, mzxid, 3, 4, version, 6, 7, owner, 9, 10, 11)


def failed(code: int) -> bytes:
    return HEADER.pack(-1, 0, code) + struct.pack("!i", code)


END = HEADER.pack(-1, 1, -1)


def test_a_request_is_a_list_of_reads() -> None:
    expected = b"".join(
        bytes(MultiHeader(4, done=False, err=-1).serialize() + GetData(path, None).serialize())
        for path in ("/a", "/é")
    )
    assert MultiRead.type == 22
    assert bytes(MultiRead(["/a", "/é"]).serialize()) == expected + END


def test_an_answer_holds_each_node_or_that_it_is_missing() -> None:
    answer = b"junk" + found(b"x", 1, 2, 6, 3) + failed(-101) + found(None, 4, 5, 7, 0) + END
    assert MultiRead(["/a", "/b", "/c"]).deserialize(answer, 4) == [
        Node(b"x", Stat(1, 2, 6, 3, 11, 3, 4, 6, 7, 9, 10)),
        None,
        Node(b"", Stat(4, 5, 7, 0, 11, 3, 4, 6, 7, 9, 10)),
    ]


def test_what_a_node_adds_to_an_answer() -> None:
    assert len(found(b"", 0, 0, 0, 0)) == STAT_BYTES


def test_other_refusals_and_answers_are_errors() -> None:
    with pytest.raises(MultiReadError, match="refused to read /a: error -102") as caught:
        MultiRead(["/a"]).deserialize(failed(-102) + END, 0)
    assert caught.value.code == -102
    with pytest.raises(MultiReadError, match="operation 8 to the read of /a"):
        MultiRead(["/a"]).deserialize(HEADER.pack(8, 0, 0) + END, 0)
