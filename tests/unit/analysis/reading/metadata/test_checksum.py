"""CRC-32C with and without the library."""

from __future__ import annotations

import sys

import crc32c as library
from hypothesis import given
from hypothesis import strategies as st

from barnabas.analysis.reading.metadata.checksum import crc32c, crc32c_by_table
from barnabas.chaos.targets import commands


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_both_ways_agree_with_the_library(before, data):
    whole = library.crc32c(before + data)
    assert crc32c(data, crc32c(before)) == whole
    assert crc32c_by_table(data, crc32c_by_table(before)) == whole


def test_the_known_checksum():
    assert crc32c_by_table(b"123456789") == 0xE3069283


def test_the_analysis_is_imported_without_the_library():
    """As on the machines of a Spark cluster that have Spark's packages alone."""
    script = (
        "import sys; sys.modules['crc32c'] = None\n"
        "import barnabas.analysis.growing\n"
        "from barnabas.analysis.reading.metadata.checksum import crc32c\n"
        "print(hex(crc32c(b'123456789')))\n"
    )
    found = commands.run(AssertionError, sys.executable, "-P", "-c", script)
    assert found == "0xe3069283\n"
