"""What is started again and what stays down, with processes that are only numbers."""

from __future__ import annotations

import signal

import pytest

from barnabas.local import supervisor as module
from barnabas.local.control import BrokerState
from barnabas.local.errors import ClusterError
from barnabas.local.supervisor import RESTARTS, RESTARTS_WINDOW_S, Restarts, Supervisor, how


class Broker:
    def __init__(self, number: int, directory) -> None:
        self.id, self.directory = number, directory
        self.kafka, self.metrics, self.console = "k:1", "m:1", "console.log"
        self.pid: int | None = number * 100
        self.exit_status: int | None = None
        self.serves = True
        self.signals: list[signal.Signals] = []

    def end(self, status: int) -> None:
        self.pid, self.exit_status = None, status

    def serving(self) -> tuple[bool, bool]:
        if self.pid is not None and not self.serves:
            self.end(1)  # a start that fails
        return self.serves and self.pid is not None, self.id == 1

    def signal(self, number: signal.Signals) -> None:
        self.signals.append(number)

    def last_words(self) -> str:
        return "its last words"


class ZooKeeper:
    def __init__(self) -> None:
        self.pid: int | None = 7
        self.exit_status: int | None = None
        self.log_file = "zookeeper.log"


class Cluster:
    """A stand-in for LocalCluster."""

    def __init__(self, directory) -> None:
        self.directory = directory
        self.brokers = {number: Broker(number, directory / f"broker-{number}") for number in (1, 2, 3)}
        self.zookeeper = ZooKeeper()
        self.zookeeper_connect = "z:1"

    def broker(self, number: int) -> Broker:
        if number not in self.brokers:
            raise ClusterError(f"there is no broker {number}")
        return self.brokers[number]

    def kill(self, number: int) -> None:
        self.brokers[number].end(-9)

    def terminate(self, number: int) -> None:
        self.brokers[number].end(0)

    def pause(self, number: int) -> None:
        self.brokers[number].signal(signal.SIGSTOP)

    def resume(self, number: int) -> None:
        self.brokers[number].signal(signal.SIGCONT)

    def restart(self, number: int, *, wait: bool) -> None:
        self.brokers[number].pid = number * 100 + 1

    def restart_zookeeper(self) -> None:
        self.zookeeper.pid = 8


@pytest.fixture
def cluster(tmp_path):
    return Cluster(tmp_path)


@pytest.fixture
def said():
    return []


@pytest.fixture
def supervisor(cluster, said):
    return Supervisor(cluster, said.append, lambda: 0.0)


def state(supervisor: Supervisor, number: int) -> BrokerState:
    return supervisor.status().brokers[number - 1].state


def test_restarts_are_allowed_again_after_a_while() -> None:
    restarts = Restarts()
    assert [restarts.allow("a", now) for now in range(RESTARTS + 1)] == [True] * RESTARTS + [False]
    assert restarts.allow("b", RESTARTS)
    assert not restarts.allow("a", RESTARTS_WINDOW_S - 0.1)
    assert restarts.allow("a", RESTARTS_WINDOW_S)


@pytest.mark.parametrize(
    ("status", "expected"), [(-9, "killed by SIGKILL"), (1, "exit status 1"), (0, "exit status 0")]
)
def test_how_a_process_ended(status: int, expected: str) -> None:
    assert how(status) == expected


@pytest.mark.parametrize(("command", "held"), [("kill", BrokerState.KILLED), ("stop", BrokerState.STOPPED)])
def test_what_a_command_ended_stays_down_until_it_is_started(supervisor, cluster, command, held) -> None:
    getattr(supervisor, command)(2)
    supervisor.look_after()
    assert cluster.brokers[2].pid is None
    assert state(supervisor, 2) is held
    supervisor.start(2)
    assert state(supervisor, 2) is BrokerState.RUNNING
    cluster.brokers[2].end(1)
    supervisor.look_after()
    assert cluster.brokers[2].pid == 201


def test_what_ended_by_itself_is_started_again(supervisor, cluster, said) -> None:
    cluster.brokers[3].end(-9)
    assert state(supervisor, 3) is BrokerState.ENDED
    supervisor.look_after()
    assert cluster.brokers[3].pid == 301
    assert said == ["broker 3 ended: killed by SIGKILL; it was started again, process 301"]


def test_a_broker_that_keeps_ending_stays_dead_until_it_is_started(supervisor, cluster, said) -> None:
    for _ in range(RESTARTS + 2):
        cluster.brokers[3].end(1)
        supervisor.look_after()
    assert cluster.brokers[3].pid is None
    assert said[-1] == "broker 3 ended: exit status 1; it keeps ending and stays dead (see console.log)"
    assert len(said) == RESTARTS + 1
    supervisor.start(3)
    cluster.brokers[3].end(1)
    supervisor.look_after()
    assert cluster.brokers[3].pid == 301


def test_a_broker_that_was_started_elsewhere_is_left_alone(supervisor, cluster, said, monkeypatch) -> None:
    monkeypatch.setattr(module, "live_process", {cluster.brokers[2].directory: 99}.get)
    cluster.brokers[2].end(0)
    supervisor.look_after()
    supervisor.look_after()
    assert cluster.brokers[2].pid is None
    assert said == ["broker 2 runs as process 99, which was started elsewhere"]


def test_a_paused_broker_is_not_asked(supervisor, cluster) -> None:
    supervisor.pause(1)
    cluster.brokers[1].serving = lambda: pytest.fail("it would not answer")
    assert state(supervisor, 1) is BrokerState.PAUSED
    del cluster.brokers[1].serving
    supervisor.resume(1)
    assert state(supervisor, 1) is BrokerState.RUNNING
    assert cluster.brokers[1].signals == [signal.SIGSTOP, signal.SIGCONT]


def test_a_paused_broker_that_is_killed_elsewhere_comes_back(supervisor, cluster) -> None:
    supervisor.pause(1)
    cluster.brokers[1].end(-9)
    supervisor.look_after()
    assert state(supervisor, 1) is BrokerState.RUNNING


def test_a_broker_that_does_not_serve_yet_is_starting(supervisor, cluster) -> None:
    cluster.brokers[1].serving = lambda: (False, False)
    assert state(supervisor, 1) is BrokerState.STARTING


def test_a_start_that_fails_says_why(supervisor, cluster) -> None:
    supervisor.kill(2)
    cluster.brokers[2].serves = False
    with pytest.raises(ClusterError, match="broker 2 ended with exit status 1: its last words"):
        supervisor.start(2)


def test_a_start_has_a_deadline(cluster) -> None:
    clock = iter([0.0, 1000.0])
    supervisor = Supervisor(cluster, clock=lambda: next(clock))
    supervisor.kill(2)
    cluster.brokers[2].serving = lambda: (False, False)
    with pytest.raises(ClusterError, match="broker 2 did not serve within 60 s"):
        supervisor.start(2)


def test_commands_that_make_no_sense_are_refused(supervisor, cluster) -> None:
    with pytest.raises(ClusterError, match="broker 1 runs already, process 100"):
        supervisor.start(1)
    with pytest.raises(ClusterError, match="there is no broker 9"):
        supervisor.kill(9)
    supervisor.kill(1)
    said = f"broker 1 does not run; `barnabas start 1 --dir {cluster.directory}` starts it"
    for command in ("kill", "stop", "pause", "resume"):
        with pytest.raises(ClusterError, match=said):
            getattr(supervisor, command)(1)


def test_zookeeper_is_started_again_unless_it_keeps_ending(supervisor, cluster, said) -> None:
    for _ in range(RESTARTS):
        cluster.zookeeper.pid, cluster.zookeeper.exit_status = None, -9
        supervisor.look_after()
        assert cluster.zookeeper.pid == 8
    assert said[0] == "ZooKeeper ended: killed by SIGKILL; starting it again"
    cluster.zookeeper.pid = None
    with pytest.raises(ClusterError, match=r"ZooKeeper keeps ending; see zookeeper\.log"):
        supervisor.look_after()


def test_the_end_of_the_cluster_is_requested(supervisor) -> None:
    assert supervisor.down() == supervisor.status().pid
    assert supervisor.down_requested.is_set()
