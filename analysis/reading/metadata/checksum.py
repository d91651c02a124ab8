"""The checksum of a batch, CRC-32C (RFC 3720, appendix B.4).

The library computes it where it is installed. The machines of a foreign Spark cluster need not have it.
"""

from __future__ import annotations

import importlib.util

if importlib.util.find_spec("crc32c") is not None:
    from crc32c import crc32c as of_library

    _HAS_LIBRARY = True
else:
    _HAS_LIBRARY = False

_REVERSED_POLYNOMIAL = 0x82F63B78
_ALL = 0xFFFFFFFF


def _step(value: int) -> int:
    for _ in range(8):
        value = value >> 1 ^ (_REVERSED_POLYNOMIAL if value & 1 else 0)
    return value


_STEPS = tuple(map(_step, range(256)))


def crc32c(data: bytes, crc: int = 0) -> int:
    """Return the checksum of ``data`` after text whose checksum is ``crc``."""
    return of_library(data, crc) if _HAS_LIBRARY else crc32c_by_table(data, crc)


def crc32c_by_table(data: bytes, crc: int = 0) -> int:
    """Return what ``crc32c`` does, byte by byte, which takes a hundred times as long as the library."""
    value = crc ^ _ALL
    for byte in data:
        value = value >> 8 ^ _STEPS[(value ^ byte) & 0xFF]
    return value ^ _ALL
