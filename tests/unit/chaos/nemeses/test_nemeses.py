import signal

import pytest

from barnabas.chaos.nemeses import cleaning, copies, registrations
from barnabas.chaos.nemeses import nemeses as module
from barnabas.chaos.nemeses.faults import names
from barnabas.chaos.nemeses.nemeses import inject
from barnabas.chaos.nemeses.schedule import KINDS, Role
from barnabas.chaos.targets.power import Loss
from barnabas.chaos.targets.targets import Targets
from barnabas.local.errors import ClusterError


class Log:
    """Notes every call of whatever it stands for."""

    def __init__(self, calls, name):
        self._calls = calls
        self._name = name

    def __getattr__(self, call):
        return lambda *arguments, **_: self._calls.append((f"{self._name}.{call}", *arguments))


class Broker(Log):
    pid = 77
    exit_status = 0


class Links(Log):
    def cut(self, ways):
        self._calls += [("links.cut", *way) for way in ways]


class Cluster(Log):
    def __init__(self, calls):
        super().__init__(calls, "cluster")
        self.brokers = {n: Broker(calls, f"broker-{n}") for n in (1, 2, 3)}


class Server(Log):
    address = "198.18.0.1:2181"


class Ensemble(Log):
    def __init__(self, calls):
        super().__init__(calls, "ensemble")
        self.servers = {f"zookeeper-{n}": Server(calls, f"zookeeper-{n}") for n in (1, 2, 3)}

    def leader(self):
        return "zookeeper-2"


class Disk(Log):
    directory = "/small"

    def cut(self):
        self._calls.append((f"{self._name}.cut",))
        return Loss(1, 1)


class Second(Log):
    pid = 99

    def said(self):
        return "Connecting to zookeeper on z:1"


ZOOKEEPERS = ("zookeeper-1", "zookeeper-2", "zookeeper-3")


@pytest.fixture
def calls():
    return []


@pytest.fixture
def targets(calls, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "expire_owner", lambda *what: calls.append(("expire", *what)) or 0x10)
    monkeypatch.setattr(module, "turn_read_only", lambda *what: calls.append(("read-only", *what)))
    monkeypatch.setattr(copies, "in_sync", lambda *what: calls.append(("in-sync", *what)) or {})
    monkeypatch.setattr(registrations, "PAUSE_S", 0.0)
    monkeypatch.setattr(cleaning, "WAIT_S", 0.0)
    monkeypatch.setattr(cleaning, "worker_of", lambda broker: calls.append(("worker-of", broker.pid)))
    for wiping in ("wipe", "wipe_parent"):
        monkeypatch.setattr(registrations, wiping, lambda *what: calls.append(("wipe", *what)) or ["/x"])
    log = tmp_path / "t-0"
    log.mkdir()
    for base in (0, 1):
        (log / f"{base:020}.log").write_bytes(b"records")
    disks = {n: Disk(calls, f"disk-{n}") for n in (1, 2, 3)}
    return Targets(
        Cluster(calls),
        Ensemble(calls),
        Links(calls, "links"),
        disks,
        log_dirs=dict.fromkeys(disks, (tmp_path,)),
        power={n: (disk,) for n, disk in disks.items()},
        duplicate=lambda broker: calls.append(("duplicate", broker)) or Second(calls, "second"),
        arm=lambda *failpoint: calls.append(("arm", *failpoint)),
    )


def done(calls):
    """The calls so far, which are forgotten."""
    so_far = list(calls)
    calls.clear()
    return so_far


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_nemesis_of_the_schedule_is_injected_and_healed(targets, calls, kind):
    fault = inject(kind.name, targets, () if kind.role is Role.NOBODY else (2,))
    assert done(calls) or kind.name.startswith("damage")
    assert fault.detail
    fault.heal()


def test_a_nemesis_that_is_not_known_is_an_error(targets):
    with pytest.raises(KeyError):
        inject("meteorite", targets, (1,))


def test_several_are_killed_at_once_and_only_then_waited_for(targets, calls):
    fault = inject("kill-several", targets, (3, 1))
    assert done(calls) == [
        ("broker-3.signal", signal.SIGKILL),
        ("broker-1.signal", signal.SIGKILL),
        ("cluster.kill", 3),
        ("cluster.kill", 1),
    ]
    assert fault.detail == "SIGKILL brokers 3, 1"
    assert fault.deadly == ()
    fault.heal()
    assert ("cluster.restart", 3) in calls


def test_a_clock_that_was_set_back_is_set_right(targets, calls):
    inject("clock-back-all", targets, (1, 2)).heal()
    assert done(calls) == [
        ("arm", broker, "clock.back", action) for action in ("error", "off") for broker in (1, 2)
    ]


def test_a_held_broker_goes_on(targets, calls):
    inject("pause-leader", targets, (2,)).heal()
    assert done(calls) == [("cluster.pause", 2), ("cluster.resume", 2)]


def test_a_broker_that_was_stopped_may_end(targets, calls):
    fault = inject("term-any", targets, (2,))
    assert done(calls) == [("broker-2.signal", signal.SIGTERM)]
    assert fault.deadly == (2,)
    fault.heal()
    assert [call[0] for call in calls][-2:] == ["cluster.terminate", "cluster.restart"]


def test_a_broker_that_was_stopped_must_end_with_status_0(targets, monkeypatch):
    broker = targets.cluster.brokers[2]
    fault = inject("term-any", targets, (2,))
    monkeypatch.setattr(broker, "exit_status", 1)
    monkeypatch.setattr(broker, "last_words", lambda: "The task x died")
    with pytest.raises(ClusterError, match="broker 2 ended with status 1 on SIGTERM: The task x died"):
        fault.heal()


def test_a_partition_is_one_way_or_both(targets, calls):
    inject("partition-one-way", targets, (2,))
    assert done(calls) == [("links.cut", "broker-2", "broker-1"), ("links.cut", "broker-2", "broker-3")]
    inject("partition-both-ways", targets, (1,))
    assert set(done(calls)) == {
        ("links.cut", *way)
        for way in (
            ("broker-1", "broker-2"),
            ("broker-2", "broker-1"),
            ("broker-1", "broker-3"),
            ("broker-3", "broker-1"),
        )
    }


def test_zookeeper_and_clients_are_cut_too(targets, calls):
    inject("cut-off", targets, (1,))
    assert {call[2] for call in done(calls)} >= {*ZOOKEEPERS, "clients", "broker-1"}
    inject("cut-zookeeper-one-way", targets, (1,))
    assert done(calls) == [("links.cut", server, "broker-1") for server in ZOOKEEPERS]


def test_a_session_is_ended_at_the_server(targets, calls):
    assert inject("session-expiry", targets, (3,)).detail == "session 0x10 of broker 3 ended"
    assert done(calls) == [("expire", "198.18.0.1:2181", "/brokers/ids/3")]


def test_a_disk_is_filled_or_read_only_until_its_broker_starts_again(targets, calls):
    fault = inject("disk-full", targets, (1,))
    assert fault.deadly == (1,)
    fault.heal()
    assert [call[0] for call in done(calls)] == [
        "disk-1.fill",
        "disk-1.free",
        "cluster.terminate",
        "cluster.restart",
    ]
    inject("disk-read-only", targets, (1,))
    assert done(calls) == [("read-only", "/small", 77)]


def test_faults_hit_all_zookeepers_or_only_their_leader(targets, calls):
    inject("zookeeper-kill", targets, ()).heal()
    assert done(calls) == [("ensemble.kill",), ("ensemble.launch",)]
    fault = inject("zookeeper-leader-kill", targets, ())
    assert fault.detail == "SIGKILL zookeeper-2, which leads"
    fault.heal()
    assert done(calls) == [("zookeeper-2.kill",), ("ensemble.launch",)]
    inject("zookeeper-leader-restart", targets, ()).heal()
    assert done(calls) == [("zookeeper-2.stop",), ("ensemble.launch",)]
    inject("zookeeper-leader-pause", targets, ()).heal()
    assert done(calls) == [("zookeeper-2.pause",), ("zookeeper-2.resume",)]
    inject("zookeeper-pause", targets, ()).heal()
    assert len(done(calls)) == 6


def test_the_leader_of_the_zookeepers_is_cut_from_the_others_alone(targets, calls):
    inject("cut-zookeeper-leader", targets, ())
    others = ("zookeeper-1", "zookeeper-3")
    assert done(calls) == [
        ("links.cut", *way) for other in others for way in (("zookeeper-2", other), (other, "zookeeper-2"))
    ]


def test_victims_are_named():
    assert names((2,)) == "broker 2"
    assert names((3, 1)) == "brokers 3, 1"
