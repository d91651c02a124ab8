"""The values that a log gets from its directory, and those that it returns."""

from __future__ import annotations

from barnabas.broker.disk.log.log_context import LogContext
from barnabas.broker.disk.log.results import LogAppendInfo, OffsetOutOfRange
from barnabas.cluster.model.configs.broker import BROKER_CONFIGS
from barnabas.cluster.model.errors import ErrorCode


def test_producers_expire_by_default_as_the_table_of_configs_says(tmp_path):
    context = LogContext(tmp_path, None, lambda: 0, *[print] * 6)
    assert context.producer_expiration_ms == BROKER_CONFIGS["transactional.id.expiration.ms"].default


def test_acks_all_waits_for_the_offset_after_the_last():
    assert LogAppendInfo(5, 9, -1, 0).required_offset == 10


def test_out_of_range_says_what_there_is():
    refusal = OffsetOutOfRange(9, 2, 7)
    assert refusal.error is ErrorCode.OFFSET_OUT_OF_RANGE
    assert str(refusal) == "offset 9 is outside 2 to 7, the log"
