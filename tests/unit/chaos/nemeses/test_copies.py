import signal

import pytest

from barnabas.chaos.nemeses import copies as module
from barnabas.chaos.nemeses.copies import empty
from barnabas.chaos.nemeses.damage import Damage, Harm
from barnabas.chaos.nemeses.nemeses import inject
from barnabas.chaos.targets.power import Loss
from barnabas.chaos.targets.targets import Targets
from barnabas.cluster.model.ids import TopicPartition
from barnabas.local.zookeeper_wire import WireError

TP = TopicPartition("t", 0)


class Log:
    def __init__(self, calls, name):
        self._calls = calls
        self._name = name

    def __getattr__(self, call):
        return lambda *arguments, **_: self._calls.append((f"{self._name}.{call}", *arguments))


class Cluster(Log):
    def __init__(self, calls):
        super().__init__(calls, "cluster")
        self.brokers = {n: Log(calls, f"broker-{n}") for n in (1, 2, 3)}


class Server:
    address = "z:1"


class Ensemble:
    servers = {"zookeeper-2": Server}  # noqa: RUF012  # it stands for an instance's

    def leader(self):
        return "zookeeper-2"


class Disk:
    def __init__(self, calls, name, lost):
        self._calls = calls
        self._name = name
        self._lost = lost

    def cut(self):
        self._calls.append(f"{self._name} cut")
        return self._lost


@pytest.fixture
def calls():
    return []


@pytest.fixture
def isr(monkeypatch):
    """Who is in sync, as ZooKeeper has it."""
    isr = {TP: {1, 2, 3}}
    monkeypatch.setattr(module, "in_sync", lambda address: {tp: frozenset(of) for tp, of in isr.items()})
    return isr


@pytest.fixture
def targets(calls, tmp_path):
    """Three brokers with two log directories each, on disks that lose two files of ten bytes each."""
    log_dirs = {n: (tmp_path / f"{n}" / "data", tmp_path / f"{n}" / "small") for n in (1, 2, 3)}
    for directories in log_dirs.values():
        for directory in directories:
            (directory / "t-0").mkdir(parents=True)
            (directory / "t-0" / "0.log").write_bytes(b"records")
            (directory / "meta.properties").write_text("broker.id=1\n")
    power = {n: tuple(Disk(calls, f"disk-{n}-{m}", Loss(2, 10)) for m in (1, 2)) for n in (1, 2, 3)}
    return Targets(Cluster(calls), Ensemble(), None, log_dirs=log_dirs, power=power)


def files(directory):
    return sorted(str(file.relative_to(directory)) for file in directory.rglob("*") if file.is_file())


def test_the_power_is_cut_behind_a_dead_broker_on_all_its_disks(targets, calls, isr):
    fault = inject("power-cut-leader", targets, (2,))
    assert calls == [("broker-2.signal", signal.SIGKILL), ("cluster.kill", 2), "disk-2-1 cut", "disk-2-2 cut"]
    assert (fault.detail, fault.missed) == ("power cut of broker 2: 20 bytes lost, 4 files changed", "")
    fault.heal()
    assert calls[-1] == ("cluster.restart", 2)


def test_the_last_in_sync_are_killed_and_keep_what_they_have(targets, calls, isr):
    isr[TopicPartition("t", 1)] = {1, 2}
    fault = inject("power-cut-several", targets, (1, 2))
    assert fault.missed == "no other replica is in sync for t-1"
    assert not [call for call in calls if isinstance(call, str)]
    fault.heal()
    assert ("cluster.restart", 1) in calls
    assert inject("empty-disks", targets, (1, 2)).missed
    assert files(targets.log_dirs[1][0]) == ["meta.properties", "t-0/0.log"]
    assert not inject("power-cut-several", targets, (2, 3)).missed


def test_where_nobody_says_who_is_in_sync_nothing_is_taken(targets, monkeypatch):
    def away(address):
        raise WireError("the server hung up")

    monkeypatch.setattr(module, "in_sync", away)
    assert inject("power-cut-any", targets, (1,)).missed == "the ISRs cannot be read: the server hung up"


def test_where_all_was_synced_nothing_was_hit(targets, isr):
    targets.power[1][0]._lost = targets.power[1][1]._lost = Loss()
    assert inject("power-cut-any", targets, (1,)).missed == "all was synced"


def test_all_lose_their_power_at_once_whatever_the_isrs(targets, calls, isr):
    fault = inject("power-cut-all", targets, (1, 2, 3))
    assert len([call for call in calls if isinstance(call, str)]) == 6
    assert fault.detail == "power cut of brokers 1, 2, 3: 60 bytes lost, 12 files changed"


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("empty-directory", [[], ["meta.properties", "t-0/0.log"]]),
        ("empty-disks", [[], []]),
        ("empty-leader", [["meta.properties"], ["meta.properties"]]),
    ],
)
def test_log_directories_of_a_dead_broker_are_emptied(targets, calls, isr, name, left):
    fault = inject(name, targets, (3,))
    assert ("cluster.kill", 3) in calls
    assert [files(directory) for directory in targets.log_dirs[3]] == left
    assert not fault.missed
    assert "of broker 3 emptied of" in fault.detail
    fault.heal()
    assert calls[-1] == ("cluster.restart", 3)


def test_an_empty_directory_is_no_hit(targets, isr):
    inject("empty-disks", targets, (3,))
    assert inject("empty-disks", targets, (3,)).missed == "the directories were empty"


def test_emptying_leaves_links_targets_alone(tmp_path):
    (tmp_path / "log").mkdir()
    (tmp_path / "elsewhere").write_text("x")
    (tmp_path / "log" / "link").symlink_to(tmp_path / "elsewhere")
    assert empty(tmp_path / "log") == 1
    assert (tmp_path / "elsewhere").exists()


def test_damage_lasts_until_the_files_are_whole_again(targets, monkeypatch):
    monkeypatch.setattr(module, "damage", lambda dirs, broker, harm: Damage(broker, harm, {TP: (0, 1)}))
    fault = inject("damage-zeros", targets, (2,))
    assert fault.detail == f"{Harm.ZEROS} in sealed segments of broker 2: t-0 from offset 0"
    assert "t-0: on broker 1 offsets 0 to 0 are missing" in fault.lacking()
    assert not fault.deadly
