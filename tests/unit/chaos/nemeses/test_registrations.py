import signal

import pytest

from barnabas.chaos.nemeses import registrations as module
from barnabas.chaos.nemeses.nemeses import inject
from barnabas.chaos.targets.targets import Targets


class Cluster:
    def __init__(self, calls):
        self._calls = calls

    def pause(self, broker):
        self._calls.append(("pause", broker))

    def resume(self, broker):
        self._calls.append(("resume", broker))


class Server:
    address = "z:1"


class Ensemble:
    servers = {"zookeeper-2": Server}  # noqa: RUF012  # it stands for an instance's

    def leader(self):
        return "zookeeper-2"


class Second:
    pid = 99
    exit_status = None

    def __init__(self):
        self.words = "INFO Connecting to zookeeper on z:1\n"
        self.signals = []

    def said(self):
        return self.words

    def last_words(self):
        return self.words.strip()

    def signal(self, number):
        self.signals.append(number)


@pytest.fixture
def calls():
    return []


@pytest.fixture
def second():
    return Second()


@pytest.fixture
def gone():
    return set()


@pytest.fixture
def targets(calls, second, gone, monkeypatch):
    def wiped(address, paths):
        gone.update(paths)
        return list(paths)

    monkeypatch.setattr(module, "wipe", wiped)
    monkeypatch.setattr(module, "wipe_parent", lambda address, path: wiped(address, [f"{path}/1", path]))
    monkeypatch.setattr(module, "missing", lambda address, paths: [path for path in paths if path in gone])

    def duplicate(broker):
        calls.append(("duplicate", broker))
        return second

    return Targets(Cluster(calls), Ensemble(), None, duplicate=duplicate)


@pytest.mark.parametrize(
    ("name", "wiped"),
    [
        ("wipe-registration", ["/brokers/ids/2"]),
        ("wipe-controller", ["/controller"]),
        ("wipe-both", ["/controller", "/brokers/ids/2"]),
        ("wipe-all-registrations", ["/brokers/ids/1", "/brokers/ids"]),
    ],
)
def test_what_was_wiped_must_come_back_by_itself(targets, gone, name, wiped):
    fault = inject(name, targets, (2,))
    assert fault.detail == f"{', '.join(wiped)} deleted"
    fault.heal()
    assert fault.lacking() == f"{', '.join(wiped)} did not come back"
    gone.clear()
    assert fault.lacking() == ""
    assert not fault.deadly


def test_a_second_process_must_be_refused(targets, calls, second):
    fault = inject("duplicate-id", targets, (3,))
    assert calls == [("duplicate", 3)]
    fault.heal()
    assert fault.lacking() == "a second broker 3 still runs: INFO Connecting to zookeeper on z:1"
    second.pid, second.exit_status = None, 1
    assert fault.lacking() == ""
    assert second.signals == []


def test_a_second_process_that_is_registered_or_ends_well_was_not_refused(targets, second):
    fault = inject("duplicate-id", targets, (3,))
    second.pid, second.exit_status = None, 0
    assert fault.lacking() == "a second broker 3 ended with status 0"
    second.words += "INFO Registered broker 3 at path /brokers/ids/3\n"
    assert fault.lacking() == "a second broker 3 was registered"
    assert second.signals == [signal.SIGKILL]


def test_the_first_is_held_for_a_moment_when_the_second_arrives(targets, calls, monkeypatch):
    monkeypatch.setattr(module, "PAUSE_S", 0.0)
    fault = inject("duplicate-id-of-paused", targets, (3,))
    assert calls == [("duplicate", 3), ("pause", 3), ("resume", 3)]
    assert fault.detail == "a second broker 3 was started, SIGSTOP of the first for 0 s"


def test_the_first_is_not_held_before(targets, calls, second, monkeypatch):
    monkeypatch.setattr(module, "ARRIVAL_TIMEOUT_S", 0.0)
    second.words = ""
    with pytest.raises(TimeoutError, match="the arrival of a second broker 3"):
        inject("duplicate-id-of-paused", targets, (3,))
    assert calls == [("duplicate", 3)]
    assert second.signals == [signal.SIGKILL]
