from __future__ import annotations

from barnabas.broker.disk.results import LogAppendInfo, OffsetOutOfRange
from barnabas.cluster.model.errors import ErrorCode


def test_acks_all_waits_for_the_offset_after_the_last():
    assert LogAppendInfo(5, 9, -1, 0).required_offset == 10


def test_out_of_range_says_what_there_is():
    refusal = OffsetOutOfRange(9, 2, 7)
    assert refusal.error is ErrorCode.OFFSET_OUT_OF_RANGE
    assert str(refusal) == "offset 9 is outside 2 to 7, the log"
