"""What is named is found before Spark is started, or said to be missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.sources import NothingToReadError, find


def test_files_folders_and_globs(tmp_path: Path) -> None:
    for name in (
        "one/state-change.log",
        "one/deep/stage-change.log.2026-11-21-03",
        "two/any.txt",
        "two/other.txt",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("12345")
    found = find([tmp_path / "one", tmp_path / "two" / "any.txt", str(tmp_path / "two" / "o*.txt")])
    assert found.folders == (str(tmp_path / "one"),)
    assert found.size == 4 * 5
    assert found.files == (str(tmp_path / "two" / "any.txt"), str(tmp_path / "two" / "other.txt"))


def test_other_file_systems_are_left_to_spark() -> None:
    found = find(["hdfs://nn/logs/", "s3a://b/state-change.log.2026-11-21-03", "s3a://b/logs/*"])
    assert found.folders == ("hdfs://nn/logs/",)
    assert found.size is None
    assert found.files == ("s3a://b/state-change.log.2026-11-21-03", "s3a://b/logs/*")


@pytest.mark.parametrize("name", ["nowhere", "*.nothing", "empty"])
def test_nothing_to_read_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NothingToReadError, match=f"nothing to read .*{name.replace('*', '.')}"):
        find([tmp_path / name])


def test_no_path_at_all() -> None:
    with pytest.raises(NothingToReadError, match="no path was given"):
        find([])
