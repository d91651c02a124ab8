"""The protocols are what the paths implement, and the answers say nothing that they do not know."""

from __future__ import annotations

import inspect

import pytest

from barnabas.broker.replicas.append import Appender
from barnabas.broker.replicas.interface import Appended, Appends, EpochEnd, Fetched, ListedOffset, Reads
from barnabas.broker.replicas.read import Reader
from barnabas.cluster.model.errors import ErrorCode


@pytest.mark.parametrize(
    ("protocol", "method", "implementation"),
    [
        (Appends, "append", Appender),
        (Reads, "fetch", Reader),
        (Reads, "list_offset", Reader),
        (Reads, "end_offset_for", Reader),
    ],
)
def test_signatures_agree(protocol, method, implementation):
    promised, kept = getattr(protocol, method), getattr(implementation, method)
    assert inspect.signature(promised) == inspect.signature(kept)


def test_an_error_comes_without_offsets():
    error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (Appended(error).base_offset, Appended(error).log_append_time) == (-1, -1)
    assert (Fetched(error).records, Fetched(error).high_watermark) == (b"", -1)
    assert (ListedOffset(error).offset, ListedOffset(error).timestamp) == (-1, -1)
    assert (EpochEnd(error).leader_epoch, EpochEnd(error).end_offset) == (-1, -1)
