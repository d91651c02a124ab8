"""Files that are not plain lines: compressed ones, exports of journald, and pretty-printed JSON.

Such a file can only be read from its begin, so it is always one split. The first bytes of a file determine
its encoding, never its name.
"""

from __future__ import annotations

import bz2
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

FIRST_BYTES = 64
"""The number of bytes that decide whether a file is encoded."""

_GZIP, _ZSTD, _XZ, _BZIP2 = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0", b"BZh"
_GZIP_WINDOW = 31

_JOURNAL = re.compile(rb"__(?:CURSOR|REALTIME_TIMESTAMP|SEQNUM)=")
# log4j2's JsonLayout prints an object on several lines, or all objects as one array.
_SPREAD_JSON = re.compile(rb"\s*(?:\[\s*\{|\{[ \t]*\r?\n)")
_JSON_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}]')

_FED_BYTES, _TEXT_BYTES = 1024, 4096
"""The most bytes to decompress at a time, and of text: no more is lost before a damage."""

_LENGTH_BYTES = 8
_HELD_MAX = 32 * 1024 * 1024
"""The most bytes of one journal field or JSON object; a longer one is damage."""


class DamagedError(Exception):
    """An error for an encoded file that is truncated or damaged; the text read before it is valid."""


def is_encoded(path: str) -> bool:
    """Return whether a file must be read from its begin; False if it cannot be opened."""
    try:
        with Path(path).open("rb") as file:
            first = file.read(FIRST_BYTES)
    except OSError:
        return False
    return encoding_of(first) is not None


def encoding_of(first: bytes) -> str | None:
    """Return the name of the encoding of a file by its first bytes; None if it is plain lines."""
    names = {_GZIP: "gzip", _ZSTD: "zstd", _XZ: "xz", _BZIP2: "bzip2"}
    found = next((name for magic, name in names.items() if first.startswith(magic)), None)
    if found is None and _JOURNAL.match(first):
        return "an export of journald"
    return "JSON on several lines" if found is None and _SPREAD_JSON.match(first) else found


def decoded(file: BinaryIO, chunk_bytes: int) -> Iterator[bytes]:
    """Read a file's text from its begin, in chunks of about ``chunk_bytes``.

    Raises:
        OSError: The file cannot be read.
        DamagedError: The file is truncated or damaged.
    """
    texts = decompressed(file, chunk_bytes)
    first = next(texts, b"")
    texts = chain([first], texts)
    if _JOURNAL.match(first[:FIRST_BYTES]):
        yield from _journal_messages(texts)
    elif _SPREAD_JSON.match(first[:FIRST_BYTES]):
        yield from _json_objects(texts)
    else:
        yield from texts


def decompressed(file: BinaryIO, chunk_bytes: int) -> Iterator[bytes]:
    """Read a file's bytes from its begin, without its compression but with any other encoding.

    Raises:
        OSError: The file cannot be read.
        DamagedError: The file is truncated or damaged.
    """
    first = file.read(FIRST_BYTES)
    file.seek(0)
    for magic, opened in (
        (_GZIP, _gunzipped), (_ZSTD, _unzstandard),
        (_XZ, partial(_in_streams, _xz_reader)), (_BZIP2, partial(_in_streams, bz2.BZ2Decompressor)),
    ):  # fmt: skip
        if first.startswith(magic):
            return _gathered(opened(file), chunk_bytes)
    return iter(lambda: file.read(chunk_bytes), b"")


def _gathered(texts: Iterator[bytes], chunk_bytes: int) -> Iterator[bytes]:
    """Join texts into chunks; those before a damage are returned before it is raised."""
    held: list[bytes] = []
    size = 0
    try:
        for text in texts:
            held.append(text)
            size += len(text)
            if size >= chunk_bytes:
                yield b"".join(held)
                held, size = [], 0
    except DamagedError:
        if size:
            yield b"".join(held)
        raise
    if size:
        yield b"".join(held)


def _gunzipped(file: BinaryIO) -> Iterator[bytes]:
    inflater = None
    while data := file.read(_FED_BYTES):
        while data := data if inflater else data.lstrip(b"\0"):
            # A gzip file may consist of several members, with zero bytes as padding in between.
            inflater = inflater or zlib.decompressobj(_GZIP_WINDOW)
            try:
                yield inflater.decompress(data)
            except zlib.error as error:
                raise DamagedError(f"the compressed text is damaged: {error}") from error
            data = inflater.unused_data
            if inflater.eof:
                inflater = None
    if inflater is not None:
        raise DamagedError("the compressed text ends early")


def _xz_reader() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ)


def _in_streams(
    new_reader: Callable[[], lzma.LZMADecompressor | bz2.BZ2Decompressor], file: BinaryIO
) -> Iterator[bytes]:
    """Read a file of one or several streams, with zero bytes as padding in between."""
    reader = None
    while data := file.read(_FED_BYTES):
        while data := data if reader else data.lstrip(b"\0"):
            reader = reader or new_reader()
            try:
                yield reader.decompress(data, _TEXT_BYTES)
                while not (reader.needs_input or reader.eof):
                    yield reader.decompress(b"", _TEXT_BYTES)
            except (lzma.LZMAError, OSError) as error:
                raise DamagedError(f"the compressed text is damaged: {error}") from error
            data = reader.unused_data
            if reader.eof:
                reader = None
    if reader is not None:
        raise DamagedError("the compressed text ends early")


def _unzstandard(file: BinaryIO) -> Iterator[bytes]:
    try:
        with pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd") as texts:
            while text := texts.read(_TEXT_BYTES):
                yield text
    except (pa.ArrowException, OSError) as error:
        raise DamagedError(f"the compressed text is damaged or ends early: {error}") from error


def _journal_messages(texts: Iterator[bytes]) -> Iterator[bytes]:
    """Read the messages of an export as lines, with the host and the unit in front where they are given.

    Source: systemd, Journal Export Formats. A field is ``NAME=value``, or ``NAME``, the value's length as 64
    bits and the value; an empty line ends an entry.
    """
    held, fields = b"", dict[bytes, bytes]()
    for text in chain(texts, [b"\n"]):
        held += text
        found: list[bytes] = []
        position = 0
        while (end := held.find(b"\n", position)) >= 0:
            name, is_text, value = held[position:end].partition(b"=")
            begin = end + 1
            if not name:
                found.append(_journal_line(fields))
                fields = {}
            elif not is_text:
                size = int.from_bytes(held[begin : begin + _LENGTH_BYTES], "little")
                begin += _LENGTH_BYTES
                if size > _HELD_MAX:
                    raise DamagedError(f"the journal's field {name[:FIRST_BYTES]!r} has {size} bytes")
                if begin + size >= len(held):
                    break
                value = held[begin : begin + size]
                begin += size + 1
            fields[name] = value
            position = begin
        held = held[position:]
        yield b"".join(found)


def _journal_line(fields: dict[bytes, bytes]) -> bytes:
    if b"MESSAGE" not in fields:
        return b""
    names = [fields[name] for name in (b"_HOSTNAME", b"_SYSTEMD_UNIT") if name in fields]
    front = b" ".join(names) + b" | " if names else b""
    return b"".join(front + line + b"\n" for line in fields[b"MESSAGE"].rstrip(b"\n").split(b"\n"))


def _json_objects(texts: Iterator[bytes]) -> Iterator[bytes]:
    """Write each object of a JSON text on a line of its own."""
    held, lines, depth = b"", list[bytes](), 0
    for text in chain(texts, [b"\n"]):
        # A string never holds a line feed, so whole lines hold whole strings.
        whole, feed, held = (held + text).rpartition(b"\n")
        found: list[bytes] = []
        begin = 0
        for token in _JSON_TOKEN.finditer(whole):
            if token[0] == b"{":
                begin = begin if depth else token.start()
                depth += 1
            elif token[0] == b"}" and depth:
                depth -= 1
                if not depth:
                    lines.append(whole[begin : token.end()])
                    parts = (line.strip() for line in b"".join(lines).split(b"\n"))
                    found.append(b" ".join(parts) + b"\n")
                    lines = []
        if depth and feed:
            lines.append(whole[begin:] + b"\n")
        if len(held) + sum(map(len, lines)) > _HELD_MAX:
            raise DamagedError(f"a JSON object has more than {_HELD_MAX} bytes")
        yield b"".join(found)
