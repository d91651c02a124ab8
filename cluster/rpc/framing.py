"""Fields as protobuf encodes them, for the few messages that are put together by hand.

What is written is what protobuf itself would write, byte for byte. Source: protobuf.dev, "Encoding".
"""

from __future__ import annotations

VARINT = 0
"""The wire type of numbers and booleans."""

LENGTH_DELIMITED = 2
"""The wire type of messages, strings and bytes, and of packed numbers."""

REMEMBERED = 4096
"""How many values of one field are kept as encoded: what is encoded by the thousand has few of them."""

_INT32_MIN, _INT32_MAX = -(2**31), 2**31 - 1
_TWO_TO_64 = 2**64


def tag(field_number: int, wire_type: int = LENGTH_DELIMITED) -> int:
    """The tag of a field whose number is below 16, which takes one byte."""
    return field_number << 3 | wire_type


def varint(number: int) -> bytes:
    """``number``, not negative, in groups of seven bits, the lowest first."""
    if number < 0x80:
        return bytes((number,))
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def head(tag_: int, size: int) -> bytes:
    """The tag of a field and the size of its content, in bytes."""
    return bytes((tag_,)) + varint(size)


def _int32(number: int) -> bytes:
    """An int32: a negative one as of 64 bits, as protobuf has it.

    Raises:
        ValueError: It has more than 32 bits.
    """
    if not _INT32_MIN <= number <= _INT32_MAX:
        raise ValueError(f"{number} is out of range, expected a number of 32 bits")
    return varint(number if number >= 0 else number + _TWO_TO_64)


class Heads(dict[int, bytes]):
    """The head of a length-delimited field by the size of its content, in bytes."""

    def __init__(self, field_number: int) -> None:
        super().__init__()
        self._tag = tag(field_number)

    def __missing__(self, size: int) -> bytes:
        encoded = head(self._tag, size)
        if len(self) < REMEMBERED:
            self[size] = encoded
        return encoded


class Int32Field(dict[int, bytes]):
    """A field of type int32 by its value; nothing for 0, as in proto3.

    A lookup raises ``ValueError`` for a number of more than 32 bits.
    """

    def __init__(self, field_number: int) -> None:
        super().__init__()
        self._tag = bytes((tag(field_number, VARINT),))

    def __missing__(self, number: int) -> bytes:
        encoded = self._tag + _int32(number) if number else b""
        if len(self) < REMEMBERED:
            self[number] = encoded
        return encoded


class PackedInt32Field(dict[tuple[int, ...], bytes]):
    """A field of type repeated int32 by its values; nothing for none.

    A lookup raises ``ValueError`` for a number of more than 32 bits.
    """

    def __init__(self, field_number: int) -> None:
        super().__init__()
        self._tag = tag(field_number)

    def __missing__(self, numbers: tuple[int, ...]) -> bytes:
        content = b"".join(map(_int32, numbers))
        encoded = head(self._tag, len(content)) + content if numbers else b""
        if len(self) < REMEMBERED:
            self[numbers] = encoded
        return encoded
