"""The subject of a certificate as text: ``CN=alice,OU=sales,O=example``.

The text is Java's, because ACLs, super users and mapping rules name it: RFC 2253, of which Java's
``X500Principal.getName`` leaves out no attribute and adds no blank. Source: ``sun.security.x509.AVA``.
"""

from __future__ import annotations

from typing import NamedTuple

_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
"""The attributes with a keyword in RFC 2253; others appear as their number and ``#`` with hex digits."""

_TEXTS = frozenset({0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1C, 0x1E})
"""The ASN.1 tags of texts: UTF-8, printable, T61, IA5, general, universal and BMP."""

_SEQUENCE, _SET, _OBJECT_ID = 0x30, 0x31, 0x06
_ESCAPED = frozenset(',=+<>#;"\\')
_BLANKS = " \r"


class _Element(NamedTuple):
    tag: int
    content: bytes
    whole: bytes


def rfc2253(name: bytes) -> str:
    """Return the text of a distinguished name.

    Args:
        name: Its DER, as in a certificate: a sequence of sets of attributes, the most general first.

    Raises:
        ValueError: The bytes are no such name.
    """
    (sequence,) = _elements(name, _SEQUENCE, _SEQUENCE)
    parts = [
        "+".join(_attribute(each.content) for each in _elements(group.content, _SEQUENCE))
        for group in _elements(sequence.content, _SET)
    ]
    return ",".join(reversed(parts))


def _elements(der: bytes, *tags: int) -> list[_Element]:
    """Cut ``der`` into its elements, all of them of one of ``tags`` if there are any."""
    found = []
    position = 0
    while position < len(der):
        header = der[position : position + 2]
        if len(header) < 2:
            raise ValueError("expected a whole DER element of a distinguished name")
        start, size = position + 2, header[1]
        if size >= 0x80:
            digits = size & 0x7F
            size = int.from_bytes(der[start : start + digits], "big")
            start += digits
        end = start + size
        if end > len(der) or (tags and header[0] not in tags):
            raise ValueError(f"expected a DER element of a distinguished name, not one of tag {header[0]}")
        found.append(_Element(header[0], der[start:end], der[position:end]))
        position = end
    return found


def _attribute(der: bytes) -> str:
    elements = _elements(der)
    if len(elements) != 2 or elements[0].tag != _OBJECT_ID:
        raise ValueError("expected an attribute of a distinguished name: its type and its value")
    kind, value = _object_id(elements[0].content), elements[1]
    keyword = _KEYWORDS.get(kind)
    if keyword is None or value.tag not in _TEXTS:
        return f"{keyword or kind}=#{value.whole.hex()}"
    return f"{keyword}={_escaped(value.content.decode(errors='replace'))}"


def _object_id(content: bytes) -> str:
    numbers, number = [], 0
    for byte in content:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    if not numbers:
        raise ValueError("expected an object identifier of at least one byte")
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))


def _escaped(text: str) -> str:
    """Put a backslash before RFC 2253's special characters and before blanks at the ends."""
    lead = len(text) - len(text.lstrip(_BLANKS))
    trail = len(text.rstrip(_BLANKS))
    return "".join(
        f"\\{c}" if c in _ESCAPED or not lead <= i < trail else "\\00" if c == "\0" else c
        for i, c in enumerate(text)
    )
