from __future__ import annotations

from pathlib import Path

from barnabas.broker.disk.log.removals import DelayedRemovals


class Segment:
    def __init__(self):
        self.is_closed = False

    def close(self):
        self.is_closed = True


def carry_out(removals, now_ms):
    for work in removals.due(now_ms):
        work()


def test_files_and_segments_go_when_they_are_due(tmp_path):
    removals, first, second = DelayedRemovals(), tmp_path / "first", tmp_path / "second"
    segments = [Segment(), Segment()]
    for path in (first, second):
        path.touch()
    removals.remove([first, tmp_path / "never there"], 10)
    removals.remove([second], 20)
    removals.close(segments[:1], 10)
    removals.close(segments[1:], 20)
    carry_out(removals, 9)
    assert (first.exists(), segments[0].is_closed) == (True, False)
    carry_out(removals, 10)
    assert (first.exists(), second.exists()) == (False, True)
    assert [each.is_closed for each in segments] == [True, False]
    carry_out(removals, 30)
    assert (second.exists(), segments[1].is_closed, removals.due(99)) == (False, True, [])


def test_files_of_a_directory_with_a_new_name_go_too(tmp_path):
    removals = DelayedRemovals()
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "0.log.deleted").touch()
    (tmp_path / "other").touch()
    removals.remove([tmp_path / "old" / "0.log.deleted", tmp_path / "other"], 10)
    removals.moved(tmp_path / "old", tmp_path / "new")
    carry_out(removals, 10)
    assert not list((tmp_path / "new").iterdir())
    assert not Path(tmp_path / "other").exists()
