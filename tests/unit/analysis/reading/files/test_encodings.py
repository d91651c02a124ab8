"""A file's encoding is known by its first bytes, and its text is the same as that of a plain file."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
from collections.abc import Callable
from pathlib import Path

import cramjam
import pytest

from barnabas.analysis.reading.files import encodings
from barnabas.analysis.reading.files.encodings import DamagedError, decoded, encoding_of, is_encoded

TEXT = b"".join(f"[2026-11-21 03:12:45,{n:03}] INFO {n * 7919} (x.y)\n".encode() for n in range(900))
NOISE = random.Random(1).randbytes(200_000).hex().encode()
BLOCK = 128 * 1024
"""The most text in a block of zstd, of which nothing can be read if it is not whole."""

COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    "bzip2": lambda text: bz2.compress(text, 1),
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "zstd": lambda text: bytes(cramjam.zstd.compress(text)),
}


def read(data: bytes, chunk: int = 100) -> bytes:
    return b"".join(decoded(io.BytesIO(data), chunk))


@pytest.mark.parametrize("name", COMPRESSED)
@pytest.mark.parametrize("chunk", [64, 5000, 10**6])
def test_a_compressed_file_may_consist_of_several(name: str, chunk: int) -> None:
    compress = COMPRESSED[name]
    assert read(compress(TEXT[:777]) + compress(TEXT[777:]), chunk) == TEXT


@pytest.mark.parametrize("chunk", [100, 10**6])
@pytest.mark.parametrize("name", COMPRESSED)
def test_of_a_torn_compressed_file_the_readable_part_is_read(name: str, chunk: int) -> None:
    found: list[bytes] = []
    with pytest.raises(DamagedError, match="ends early"):
        found.extend(decoded(io.BytesIO(COMPRESSED[name](NOISE)[:-20]), chunk))
    read = b"".join(found)
    assert NOISE.startswith(read)
    assert len(read) >= len(NOISE) - BLOCK


@pytest.mark.parametrize("name", ["bzip2", "gzip", "xz"])
def test_of_a_damaged_compressed_file_what_is_before_the_damage_is_read(name: str) -> None:
    data = bytearray(COMPRESSED[name](NOISE))
    data[len(data) // 2 : len(data) // 2 + 64] = bytes(64)
    found: list[bytes] = []
    with pytest.raises(DamagedError, match="damaged"):
        found.extend(decoded(io.BytesIO(data), 10**6))
    sure = len(NOISE) // 2 - BLOCK
    assert b"".join(found)[:sure] == NOISE[:sure]


@pytest.mark.parametrize(
    "first", [b"\x1f\x8bnonsense", b"BZh1nonsense", b"\xfd7zXZ\0nonsense", b"\x28\xb5\x2f\xfdnonsense"]
)
def test_a_damaged_compressed_file_is_reported(first: bytes) -> None:
    with pytest.raises(DamagedError, match="damaged"):
        read(first)


@pytest.mark.parametrize(
    ("first", "name"),
    [
        *((compress(TEXT), name) for name, compress in COMPRESSED.items()),
        (b"__CURSOR=s=1\n", "an export of journald"),
        (b'[\n  {"level": "INFO"', "JSON on several lines"),
        (b'{"level": "INFO"}\n', None),
        (TEXT, None),
    ],
)
def test_an_encoding_has_a_name(first: bytes, name: str | None) -> None:
    assert encoding_of(first[: encodings.FIRST_BYTES]) == name


def field(name: str, value: bytes) -> bytes:
    if b"\n" in value:
        return name.encode() + b"\n" + len(value).to_bytes(8, "little") + value + b"\n"
    return name.encode() + b"=" + value + b"\n"


def journal(*messages: bytes, **names: bytes) -> bytes:
    return b"".join(
        field("__CURSOR", b"s=1")
        + field("MESSAGE", message)
        + b"".join(field(name, value) for name, value in names.items())
        + b"\n"
        for message in messages
    )


@pytest.mark.parametrize("chunk", [1, 7, 10**6])
def test_a_journal_gives_its_messages(chunk: int) -> None:
    export = journal(b"[t] INFO a=b (x)", b"one\nMESSAGE=two\n\nthree", _SYSTEMD_UNIT=b"kafka@1.service")
    front = b"kafka@1.service | "
    messages = (b"[t] INFO a=b (x)", b"one", b"MESSAGE=two", b"", b"three")
    expected = b"".join(front + each + b"\n" for each in messages)
    assert read(export, max(chunk, 20)) == expected
    assert read(gzip.compress(export), 10**6) == expected


def test_a_journal_s_entry_may_lack_a_message_and_the_last_one_its_end() -> None:
    assert read(field("__CURSOR", b"1") + b"\n" + journal(b"x") + field("MESSAGE", b"y")) == b"x\ny\n"


def test_a_journal_s_endless_field_is_damage() -> None:
    with pytest.raises(DamagedError, match="MESSAGE"):
        read(journal(b"x") + b"MESSAGE\n" + b"\xff" * 8)


@pytest.mark.parametrize("chunk", [64, 10**6])
@pytest.mark.parametrize("between", ["\n", ",\n"])
def test_spread_json_becomes_an_object_a_line(chunk: int, between: str) -> None:
    objects = [{"level": "INFO", "message": '} "{ \\'}, {"instant": {"epochSecond": 1}}]
    text = between.join(json.dumps(each, indent=2) for each in objects)
    data = (f"[\n{text}\n]" if "," in between else f"{text}\n").encode()
    assert [json.loads(line) for line in read(data, chunk).splitlines()] == objects


def test_an_endless_object_is_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encodings, "_HELD_MAX", 50)
    with pytest.raises(DamagedError, match="50 bytes"):
        read(b"{\n" + b'"x":\n' * 100)


def test_files_are_told_apart_by_their_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    for data, expected in (
        (TEXT, False),
        (b'{"log":"x\\n"}\n', False),
        (b"[2026-", False),
        (b"", False),
        (b"[\n{", True),
        (b"{\r\n", True),
        (journal(b"x"), True),
        *((compress(TEXT), True) for compress in COMPRESSED.values()),
    ):
        path.write_bytes(data)
        assert is_encoded(str(path)) is expected, data[:20]
    assert not is_encoded(str(tmp_path / "gone"))
