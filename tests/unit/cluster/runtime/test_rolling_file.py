import os
from datetime import datetime
from pathlib import Path

import pytest

from barnabas.cluster.runtime.rolling_file import HourlyRollingFile


def at(hour, minute=0):
    return datetime(2026, 11, 21, hour, minute).astimezone()


def test_lines_of_one_hour_stay_in_one_file(tmp_path):
    file = HourlyRollingFile(tmp_path / "logs" / "a.log", at(3))
    file.write("one\n")
    file.roll_if_due(at(3, 59))
    file.write("two\n")
    file.close()
    assert (tmp_path / "logs" / "a.log").read_text() == "one\ntwo\n"


def test_an_earlier_hour_is_renamed_by_its_hour(tmp_path):
    file = HourlyRollingFile(tmp_path / "a.log", at(3))
    file.write("one\n")
    file.roll_if_due(at(5))
    file.write("two\n")
    file.flush()
    assert (tmp_path / "a.log.2026-11-21-03").read_text() == "one\n"
    assert (tmp_path / "a.log").read_text() == "two\n"
    file.close()


def test_a_file_left_by_an_earlier_process_is_continued_within_its_hour(tmp_path):
    (tmp_path / "a.log").write_text("old\n")
    os.utime(tmp_path / "a.log", (at(3, 10).timestamp(),) * 2)
    file = HourlyRollingFile(tmp_path / "a.log", at(3, 30))
    file.write("new\n")
    file.close()
    assert (tmp_path / "a.log").read_text() == "old\nnew\n"


def test_a_file_left_in_an_earlier_hour_is_rolled_at_once(tmp_path):
    (tmp_path / "a.log").write_text("old\n")
    os.utime(tmp_path / "a.log", (at(2, 59).timestamp(),) * 2)
    HourlyRollingFile(tmp_path / "a.log", at(3)).close()
    assert (tmp_path / "a.log.2026-11-21-02").read_text() == "old\n"
    assert (tmp_path / "a.log").read_text() == ""


def test_text_that_is_not_utf8_is_written_escaped(tmp_path):
    file = HourlyRollingFile(tmp_path / "a.log", at(3))
    file.write("\udcff\n")
    file.close()
    assert (tmp_path / "a.log").read_text() == "\\udcff\n"


def test_a_roll_that_the_disk_refuses_costs_no_later_line(tmp_path, monkeypatch):
    file = HourlyRollingFile(tmp_path / "a.log", at(3))
    file.write("one\n")

    def refuse(*_, **_more):
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as disk:
        disk.setattr(Path, "replace", refuse)
        with pytest.raises(OSError, match="Read-only"):
            file.roll_if_due(at(4))
        disk.setattr(Path, "open", refuse)
        with pytest.raises(OSError, match="Read-only"):
            file.write("lost\n")
        file.flush()
    file.roll_if_due(at(4, 30))
    file.write("two\n")
    file.close()
    assert (tmp_path / "a.log").read_text() == "one\ntwo\n"
