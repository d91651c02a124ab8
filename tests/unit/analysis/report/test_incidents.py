"""Where a line is, as the report names it."""

from __future__ import annotations

import pytest

from barnabas.analysis.report.incidents import place
from barnabas.analysis.story.certainty import Line


@pytest.mark.parametrize(
    ("source", "block", "expected"),
    [
        ("file:///a/broker-1/server.log", 0, "broker-1/server.log:7"),
        ("file:///a/broker-1/logs/server.log", 0, "broker-1/logs/server.log:7"),
        ("hdfs://n/a/kafka%201/log/server.log", 4096, "kafka 1/log/server.log:7 after byte 4096"),
        ("file:///logs/server.log", 0, "logs/server.log:7"),
        ("standard input", 0, "standard input:7"),
    ],
)
def test_a_place_names_the_folder_above_one_that_all_brokers_have(source, block, expected):
    assert place(Line(source, block, 7, "x")) == expected
