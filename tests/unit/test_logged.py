"""The text of a log across the files that it was rolled to."""

from __future__ import annotations

import pytest

from tests.logged import logged


def test_rolled_files_come_before_the_current_one(tmp_path):
    log = tmp_path / "server.log"
    log.write_text("third\n")
    (tmp_path / "server.log.2026-11-27-02").write_text("second\n")
    (tmp_path / "server.log.2026-11-27-01").write_text("first\n")
    assert logged(log) == "first\nsecond\nthird\n"


def test_between_a_roll_and_the_next_line_there_may_be_no_current_file(tmp_path):
    (tmp_path / "server.log.2026-11-27-02").write_text("rolled\n")
    assert logged(tmp_path / "server.log") == "rolled\n"


def test_a_log_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no log file .*server\.log"):
        logged(tmp_path / "server.log")
