"""Where the archive of ZooKeeper's classes lies, and when it is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.local.class_archive import ClassArchive


@pytest.fixture
def java(tmp_path: Path) -> Path:
    java = tmp_path / "java"
    java.touch()
    return java


def found(tmp_path: Path, java: Path, *options: str) -> ClassArchive:
    archive = ClassArchive.find(tmp_path / "cache", str(java), [], options)
    assert archive is not None
    return archive


def test_the_first_server_writes_the_archive_that_later_ones_use(tmp_path: Path, java: Path) -> None:
    first = found(tmp_path, java)
    assert first.new is not None
    assert f"-XX:ArchiveClassesAtExit={first.new}" in first.flags()
    first.new.write_bytes(b"\xf0\x0b\xab\xbarest")
    first.keep()
    second = found(tmp_path, java)
    assert f"-XX:SharedArchiveFile={first.kept}" in second.flags()
    second.keep()
    assert first.kept.is_file()
    assert not first.new.exists()


@pytest.mark.parametrize("content", [b"", b"\0\0\0\0rest"])
def test_an_archive_that_was_not_written_to_its_end_is_deleted(
    tmp_path: Path, java: Path, content: bytes
) -> None:
    archive = found(tmp_path, java)
    assert archive.new is not None
    archive.new.write_bytes(content)
    archive.keep()
    assert not archive.kept.exists()
    assert not archive.new.exists()


def test_a_server_that_was_killed_has_written_none(tmp_path: Path, java: Path) -> None:
    archive = found(tmp_path, java)
    archive.keep()
    assert not archive.kept.exists()


def test_another_java_jar_or_option_has_another_archive(tmp_path: Path, java: Path) -> None:
    jar = tmp_path / "zookeeper.jar"
    jar.touch()
    with_jar = ClassArchive.find(tmp_path / "cache", str(java), [jar], [])
    assert with_jar is not None
    kept = {found(tmp_path, java).kept, found(tmp_path, java, "-Xmx1g").kept, with_jar.kept}
    java.write_text("newer")
    assert len(kept | {found(tmp_path, java).kept}) == 4


def test_none_is_kept_where_others_may_write_or_no_folder_can_be_made(tmp_path: Path, java: Path) -> None:
    (tmp_path / "cache" / "classes").mkdir(parents=True)
    (tmp_path / "cache" / "classes").chmod(0o777)
    assert ClassArchive.find(tmp_path / "cache", str(java), [], []) is None
    assert ClassArchive.find(java, str(java), [], []) is None
    assert ClassArchive.find(tmp_path / "other", str(java), [tmp_path / "missing.jar"], []) is None
