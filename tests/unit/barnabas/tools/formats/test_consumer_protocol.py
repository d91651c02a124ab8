"""The assignment of a consumer."""

from __future__ import annotations

import pytest

from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.formats.consumer_protocol import BadAssignmentError, decode_assignment

OF_LIBRDKAFKA = bytes.fromhex("0000 00000001 0001 74 00000002 00000000 00000001 00000000")


def test_an_assignment() -> None:
    assert decode_assignment(OF_LIBRDKAFKA) == ([TopicPartition("t", 0), TopicPartition("t", 1)], b"")
    of_two = bytes.fromhex("0001 00000002 0001 74 00000000 0001 75 00000001 00000007 00000002 0aff")
    assert decode_assignment(of_two) == ([TopicPartition("u", 7)], b"\x0a\xff")
    without_data = OF_LIBRDKAFKA[:-4] + b"\xff\xff\xff\xff"
    assert decode_assignment(without_data)[1] == b""
    assert decode_assignment(b"") == ([], b"")


@pytest.mark.parametrize("size", range(1, len(OF_LIBRDKAFKA)))
def test_what_is_no_assignment(size: int) -> None:
    with pytest.raises(BadAssignmentError):
        decode_assignment(OF_LIBRDKAFKA[:size])
