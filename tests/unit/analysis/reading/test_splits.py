"""However a file is cut, every line is read once and no entry is torn."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.analysis.reading.files.encodings import DamagedError
from barnabas.analysis.reading.layouts import begins_entry
from barnabas.analysis.reading.splits import (
    Split,
    blocks,
    cut,
    last_head,
    next_head,
    plan,
)

HEAD = "[2026-11-21 03:12:45,678] INFO x (state.change.logger)"
lines = st.sampled_from(
    [HEAD, f"broker-1  | {HEAD}", "\tat kafka.Kafka.main(Kafka.scala)", "", "Caused by: [x] y", HEAD + "\r"]
)


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    text = "\n".join(draw(st.lists(lines, max_size=12)))
    return (text + draw(st.sampled_from(["", "\n"]))).encode()


def begins_with_a_head(block: bytes) -> bool:
    return begins_entry(block.partition(b"\n")[0])


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("splits") / "state-change.log"


@given(texts(), st.integers(1, 200), st.integers(1, 300))
def test_splits_give_every_byte_once_and_in_order(file: Path, text: bytes, size: int, block: int) -> None:
    file.write_bytes(text)
    splits = plan([(str(file), len(text))], parallel=1, most=size, least=size)
    read = [list(blocks(split, block)) for split in splits]
    assert b"".join(piece for pieces in read for piece in pieces) == text
    for pieces in read[1:]:
        assert all(begins_with_a_head(piece) for piece in pieces)
    for piece in read[0][1:]:
        assert begins_with_a_head(piece)


@given(texts(), st.integers(1, 100))
def test_a_compressed_file_is_read_in_blocks_too(file: Path, text: bytes, block: int) -> None:
    half = len(text) // 2
    file.write_bytes(gzip.compress(text[:half]) + gzip.compress(text[half:]) + b"\0" * 9)
    (split,) = plan([(str(file), file.stat().st_size)], parallel=8, most=1, least=1)
    read = list(blocks(split, block))
    assert b"".join(read) == text
    assert all(begins_with_a_head(piece) for piece in read[1:])


@pytest.mark.parametrize("damage", [slice(0, -12), slice(0, 200)], ids=["end", "middle"])
def test_of_a_torn_compressed_file_the_whole_lines_before_the_end_are_given_out(
    tmp_path: Path, damage: slice
) -> None:
    text = b"".join(f"[2026-11-21 03:12:45,{n:03}] INFO {n * 7919} (x.y)\n".encode() for n in range(900))
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress(text)[damage])
    read: list[bytes] = []
    with pytest.raises(DamagedError, match="ends early"):
        read.extend(blocks(Split(str(path), 0, 0), 100))
    assert text.startswith(b"".join(read))
    assert b"".join(read)[-1:] == b"\n"


def test_damaged_compressed_text_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.log.gz"
    path.write_bytes(b"\x1f\x8bnonsense")
    with pytest.raises(DamagedError, match="damaged"):
        list(blocks(Split(str(path), 0, 0)))


def test_an_entry_longer_than_memory_allows_is_cut_at_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.analysis.reading.splits._ENTRY_MAX", 100)
    text = HEAD.encode() + b"\n" + b"\tat x\n" * 100
    pieces = list(cut((text[n : n + 30] for n in range(0, len(text), 30)), None))
    assert b"".join(pieces) == text
    assert max(map(len, pieces)) <= 200


@pytest.mark.parametrize("limit", [None, 40_000, 1_000])
def test_no_line_is_looked_at_again_when_more_text_follows_it(
    monkeypatch: pytest.MonkeyPatch, limit: int | None
) -> None:
    looked_at: list[bytes] = []

    def counted(line: bytes) -> bool:
        looked_at.append(line)
        return begins_entry(line)

    monkeypatch.setattr("barnabas.analysis.reading.splits.begins_entry", counted)
    text = (
        HEAD.encode() + b"\n" + b"".join(b"\tat x.y(%d)\n" % n for n in range(3_000)) + HEAD.encode() + b"\n"
    )
    read = b"".join(cut((text[n : n + 100] for n in range(0, len(text), 100)), limit))
    assert read == (text if limit is None or limit > text.rindex(b"[") else text[: text.rindex(b"[")])
    # Once for the begin of the next split, once for the begin of the last entry.
    assert len(looked_at) <= 2 * text.count(b"\n") + 2


def test_a_line_longer_than_memory_allows_is_cut_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barnabas.analysis.reading.splits._ENTRY_MAX", 100)
    path = tmp_path / "state-change.log"
    text = f"{HEAD}\n{chr(0) * 1000}\n{HEAD}".encode()
    path.write_bytes(text)
    first, second, third = (
        list(blocks(split, 30)) for split in plan([(str(path), len(text))], 1, most=400, least=400)
    )
    assert max(map(len, first)) <= 130
    assert b"".join(first + second + third) == text
    assert second == []


def test_of_a_file_that_was_cut_off_meanwhile_nothing_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "state-change.log"
    path.write_bytes(b"x" * 60)
    assert list(blocks(Split(str(path), 50, 1000))) == []


def test_splits_feed_all_readers_but_are_not_crumbs(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x")
    assert len(plan([(str(path), 1000)], parallel=4, most=400, least=1)) == 8
    assert len(plan([(str(path), 1000)], parallel=4, most=400, least=300)) == 4
    assert len(plan([(str(path), 1000)], parallel=1, most=100, least=1)) == 10
    assert plan([(str(path), 0)], parallel=1, most=9, least=9) == [Split(str(path), 0, 0)]


def test_headers_are_found_from_either_end() -> None:
    text = f"x\n{HEAD}\ny\n{HEAD}\nz\n{HEAD}".encode()
    second = text.rindex(HEAD.encode(), 0, -len(HEAD))
    assert next_head(text, 0) == 2
    assert next_head(text, 3) == second
    assert next_head(text, second + 1) is None
    assert last_head(text) == second
    assert last_head(b"x\ny\n") == 0
