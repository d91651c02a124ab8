"""The descriptions of fields in kio's classes, for code that walks or writes entities without kio."""

from __future__ import annotations

import struct
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

FORMATS = {
    "bool": "?",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "error_code": "h",
    "int32": "i",
    "uint32": "I",
    "timedelta_i32": "i",
    "int64": "q",
    "uint64": "Q",
    "float64": "d",
    "timedelta_i64": "q",
    "datetime_i64": "q",
    "uuid": "16s",
}
"""The ``struct`` format of the fields of fixed size, by kio's name of their type."""

SIZES = {kind: struct.calcsize(f">{code}") for kind, code in FORMATS.items()}
"""The size of such a field in bytes."""

MAX_STRING_BYTES = 32_767
"""The most UTF-8 bytes of a string, even in flexible versions, whose lengths could be larger.

Kafka's generated readers refuse a longer one ("string field name had invalid length"), so no client that
works with Kafka sends one. A name of 98 MB kept the broker busy for seconds wherever it was compared or
repeated.
"""


def not_none(kind: Any) -> Any:
    """Return the type without its ``| None``."""
    if get_origin(kind) is not UnionType:
        return kind
    return next(part for part in get_args(kind) if part is not NoneType)
