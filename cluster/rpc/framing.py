"""What stands before the content of a field in an encoded message, for the few that are put together by hand.

Source: protobuf.dev, "Encoding".
"""

from __future__ import annotations

LENGTH_DELIMITED = 2
"""The wire type of messages, strings and bytes."""


def tag(field_number: int) -> int:
    """The tag of a length-delimited field whose number is below 16, which takes one byte."""
    return field_number << 3 | LENGTH_DELIMITED


def head(tag_: int, size: int) -> bytes:
    """The tag of a field and the size of its content, in bytes."""
    encoded = bytearray((tag_,))
    while size > 0x7F:
        encoded.append(size & 0x7F | 0x80)
        size >>= 7
    encoded.append(size)
    return bytes(encoded)
