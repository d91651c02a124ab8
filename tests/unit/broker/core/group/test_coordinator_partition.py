from __future__ import annotations

import pytest

from barnabas.broker.core.group.coordinator_partition import java_hash, partition_of


@pytest.mark.parametrize(
    ("group", "hashed", "partition"),
    [
        ("", 0, 0),
        ("test", 3556498, 48),
        ("my-group", None, 12),
        ("console-consumer-1", None, 24),
        ("polygenelubricants", -(2**31), 0),  # has no absolute value in 32 bits
        ("\U0001f600", 0xD83D * 31 + 0xDE00, None),  # two UTF-16 units
    ],
)
def test_a_group_has_the_partition_that_kafka_gives_it(group, hashed, partition):
    if hashed is not None:
        assert java_hash(group) == hashed
    if partition is not None:
        assert partition_of(group, 50) == partition
