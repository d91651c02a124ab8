"""The file of the history: what is read is what was written, and a damaged file is no obstacle."""

import json

import pytest

from barnabas.cluster.model.ids import TopicPartition
from barnabas.page.history import History
from barnabas.page.keep import HistoryFile
from barnabas.page.model import BrokerView, Change, ClusterState, PartitionView, differences, state_of

BEFORE = ClusterState()
AFTER = ClusterState(
    {1: BrokerView("h:1", 7, "a"), 2: BrokerView("h:2", 8)},
    1,
    3,
    {TopicPartition("t", 0): PartitionView((1, 2), 1, (1,), 4, 3, (2,), (1,))},
)


def kept(path, most=100):
    file = HistoryFile(path, most)
    return file, file.load()


def add(file, history, *changes, at=5):
    file.append(history, history.add(at, changes))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "history.jsonl"


def test_a_page_that_starts_again_knows_the_cluster_and_its_history(path):
    file, history = kept(path)
    assert (history.entries(), state_of(history.latest())) == ([], BEFORE)
    add(file, history, *differences(BEFORE, AFTER))
    add(file, history, Change("action", "cut", {"id": 2, "action": "cut"}, is_bad=True), at=9)
    file.close()
    _, again = kept(path)
    assert json.dumps(again.json()) == json.dumps(history.json())
    assert state_of(again.latest()) == AFTER
    (added,) = again.add(10, [Change("start", "", {})])
    assert added.number == history.entries()[-1].number + 1


def test_what_the_history_drops_leaves_the_file(path):
    file, history = kept(path, most=2)
    for number in range(50):
        add(file, history, Change("process", "", {"id": number, "state": "running"}))
        assert len(path.read_text().splitlines()) <= 5
    _, again = kept(path, most=2)
    assert again.latest() == history.latest()
    assert len(again.latest()["processes"]) == 50


def test_a_line_that_a_crash_cut_short_is_dropped(path):
    file, history = kept(path)
    add(file, history, Change("start", "one", {}), Change("start", "two", {}))
    whole = path.read_text()
    path.write_text(whole[:-3])
    _, again = kept(path)
    assert [entry.change.text for entry in again.entries()] == ["one"]


PROCESS = '{"n": 1, "at": 1, "kind": "process", "text": "", "bad": false, "id": 1, "state": "running"}\n'


@pytest.mark.parametrize(
    "content",
    [
        "no JSON\n",
        "[]\n",
        "{}\n",
        '{"base": {}, "base_at": 0}\n',
        '{"base": 1, "base_at": 0}\n{"n": 1}\n',
        '{"base": {}, "base_at": 0}\n1.5\n',
        '{"base": {"processes": [[]]}, "base_at": 0}\n' + PROCESS,
        "[" * 200_000 + "\n",
    ],
)
def test_a_damaged_file_begins_again(path, content, caplog):
    path.write_text(content)
    file, history = kept(path)
    assert history.entries() == []
    assert "cannot be read, and begins again" in caplog.text
    add(file, history, Change("start", "one", {}))
    assert len(kept(path)[1].entries()) == 1


def test_a_gap_in_the_numbers_begins_again(path):
    file, history = kept(path)
    add(file, history, *(Change("start", "", {}) for _ in range(3)))
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:2] + lines[3:]))
    assert kept(path)[1].entries() == []


def test_a_disk_that_refuses_is_no_error_of_the_page(tmp_path, caplog):
    file, history = kept(tmp_path / "missing" / "history.jsonl")
    add(file, history, Change("start", "", {}))
    assert isinstance(history, History)
    assert "the page's history is not kept" in caplog.text
