"""The parts of the story; all of it, on real processes, is told in tests/faults."""

import signal

import confluent_kafka
import pytest

from barnabas import demo
from barnabas.demo import Watch
from barnabas.local.errors import ClusterError
from barnabas.local.observe import ClusterView


class Looks:
    """An observer that shows one look after the other, and the last for ever."""

    def __init__(self, *looks):
        self._looks = list(looks)

    def look(self, topic, timeout_s):
        look = self._looks.pop(0) if len(self._looks) > 1 else self._looks[0]
        if look is None:
            raise confluent_kafka.KafkaException("nobody answers")
        return look


def controlled_by(broker):
    return ClusterView(controller=broker)


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(demo, "WATCH_EVERY_S", 0.001)
    monkeypatch.setattr(demo, "RECOVERY_TIMEOUT_S", 5.0)


def test_the_watch_looks_on_until_it_sees_what_is_waited_for():
    with Watch(Looks(controlled_by(1), None, controlled_by(None), controlled_by(2))) as watch:
        watch.wait_for(lambda view: view.controller == 2, "a new controller")


def test_what_is_never_seen_is_named(monkeypatch):
    monkeypatch.setattr(demo, "RECOVERY_TIMEOUT_S", 0.01)
    with (
        Watch(Looks(controlled_by(1))) as watch,
        pytest.raises(TimeoutError, match="a new controller was not seen within"),
    ):
        watch.wait_for(lambda view: view.controller == 2, "a new controller")


def test_a_demo_that_cannot_start_is_one_line_and_a_failure(monkeypatch, capsys, tmp_path):
    def refuse(*arguments):
        raise ClusterError("broker 2 ended with status 1")

    monkeypatch.setattr(demo, "LocalCluster", refuse)
    monkeypatch.setattr(demo.tempfile, "mkdtemp", lambda prefix: str(tmp_path))
    assert demo.run() == 1
    told = capsys.readouterr().out
    assert "The demo ended early: broker 2 ended with status 1" in told
    assert "are kept in" in told
    assert tmp_path.exists()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_nothing_behind(monkeypatch, capsys, tmp_path, number, status):
    monkeypatch.setattr(demo, "_tell", lambda *arguments: signal.raise_signal(number))
    monkeypatch.setattr(demo.tempfile, "mkdtemp", lambda prefix: str(tmp_path))
    handler = signal.getsignal(number)
    assert demo.run() == status
    assert signal.getsignal(number) == handler
    assert "Stopped. Its logs and data are removed." in capsys.readouterr().out
    assert not tmp_path.exists()


@pytest.mark.parametrize(("kept", "status"), [(True, 0), (False, 1)])
def test_the_exit_status_says_whether_every_promise_was_kept(monkeypatch, tmp_path, kept, status):
    monkeypatch.setattr(demo, "_tell", lambda *arguments: kept)
    monkeypatch.setattr(demo.tempfile, "mkdtemp", lambda prefix: str(tmp_path))
    assert demo.run() == status
    assert tmp_path.exists() == (not kept)


def test_a_report_is_kept_and_named(monkeypatch, tmp_path, capsys):
    def tell(_console, directory, _picture):
        for file in (demo.REPORT, demo.CLUSTER / "data"):
            (directory / file).parent.mkdir(parents=True)
            (directory / file).touch()
        return True

    monkeypatch.setattr(demo, "_tell", tell)
    monkeypatch.setattr(demo.tempfile, "mkdtemp", lambda prefix: str(tmp_path))
    assert demo.run() == 0
    assert f"The report: {tmp_path / demo.REPORT}" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["analysis"]


@pytest.mark.parametrize(("name", "why"), [("", "is a folder"), ("nowhere/demo.svg", "there is no folder")])
def test_a_picture_that_cannot_be_written_is_refused_before_the_story(
    monkeypatch, tmp_path, capsys, name, why
):
    monkeypatch.setattr(demo, "_tell", lambda *arguments: pytest.fail("the story began"))
    assert demo.run(tmp_path / name) == 2
    assert why in capsys.readouterr().out
