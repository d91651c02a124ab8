"""What kafka-dump-log.sh prints of __transaction_state."""

from __future__ import annotations

from struct import Struct, pack

import pytest

from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.dump.batches import Record
from barnabas.tools.dump.transactions import transactions_decoder

KEY = pack(">hh2s", 0, 2, b"tx")


def record(key: bytes | None, value: bytes | None) -> Record:
    return Record(4, -1, -1, key, value, ())


def value(status: int, partitions: bytes) -> bytes:
    return Struct(">hqhib").pack(0, 7, 3, 60_000, status) + partitions + pack(">qq", 1000, 900)


def test_states_and_partitions() -> None:
    two = pack(">ih1si2ih1sii", 2, 1, b"t", 2, 0, 5, 1, b"u", 1, 9)
    shown = (
        "producerId:7,producerEpoch:3,state=Ongoing,partitions=[t-0,t-5,u-9],txnLastUpdateTimestamp=1000,"
        "txnTimeoutMs=60000"
    )
    name = "transaction_metadata::transactionalId=tx"
    assert transactions_decoder(record(KEY, value(1, two))) == (name, shown)
    for status, partitions in ((0, pack(">i", -1)), (0, two), (4, pack(">i", 0))):
        _, text = transactions_decoder(record(KEY, value(status, partitions)))
        state = "CompleteCommit" if status else "Empty"
        assert text is not None
        assert f",state={state},partitions=[],txnLastUpdateTimestamp=1000," in text


def test_a_tombstone() -> None:
    assert transactions_decoder(record(KEY, None))[1] == "<DELETE>"


@pytest.mark.parametrize(
    ("key", "content", "reason"),
    [
        (None, b"", "message had a missing key"),
        (pack(">hh2s", 1, 2, b"tx"), None, "offset 4: version 1, expected 0"),
        (pack(">hh1s", 0, 2, b"t"), None, "offset 4: a string of 2 bytes at 4 of 5"),
        (b"\0", None, "offset 4: unpack_from requires"),
        (KEY, value(8, pack(">i", 0)), "offset 4: status 8, expected 0 to 7"),
        (KEY, value(1, pack(">i", 0))[:-1], "offset 4: unpack_from requires"),
        (KEY, value(1, pack(">i", 2**31 - 1)), "offset 4: a string of 1000 bytes at 29 of 37"),
    ],
)
def test_other_records_are_refused(key: bytes | None, content: bytes | None, reason: str) -> None:
    with pytest.raises(ToolError, match=f"transaction topic decoder .*{reason}"):
        transactions_decoder(record(key, content))
