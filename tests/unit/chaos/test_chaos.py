import itertools
import time

import confluent_kafka
import pytest

from barnabas.chaos import chaos as module
from barnabas.chaos.chaos import Chaos
from barnabas.chaos.nemeses.faults import InjectedFault
from barnabas.chaos.nemeses.schedule import BY_NAME, Step
from barnabas.chaos.recovery import NotRecoveredError
from barnabas.chaos.targets.links import NetworkError
from barnabas.chaos.targets.targets import Targets
from barnabas.chaos.workload.traffic import ClientFailed
from barnabas.local.errors import ClusterError
from barnabas.local.observe import ClusterView
from barnabas.local.zookeeper_jars import ZooKeeperStartError
from barnabas.local.zookeeper_wire import WireError
from barnabas.workload.history import Disturbed, History, Phase


class Traffic:
    def __init__(self, bootstrap, history, *, flushed):
        self.partitions = ()
        self.flushed = flushed
        self.churn = self
        self.created, self.created_again, self.deleted = 2, 1, {"churn-1"}
        self.stopped = self.halted = False

    def start(self):
        pass

    def wait_for_progress(self, timeout_s):
        pass

    def halt(self):
        self.halted = True

    def stop(self):
        self.stopped = True
        return ["a reader ended early"]


class Observer:
    def __init__(self, bootstrap):
        pass

    def look(self, timeout_s=5.0):
        raise confluent_kafka.KafkaException("nobody answers")


class Broker:
    def __init__(self, number):
        self.id = number
        self.pid = number


class Cluster:
    bootstrap = "b:1"

    def __init__(self):
        self.brokers = {n: Broker(n) for n in (1, 2, 3)}


class Ensemble:
    def wait_ready(self, timeout_s):
        pass


class Links:
    dropped = 5

    def heal(self):
        return self.dropped


@pytest.fixture
def injected():
    return []


@pytest.fixture
def chaos(monkeypatch, injected):
    def inject(name, targets, victims):
        injected.append((name, len(victims)))
        return InjectedFault("done", lambda: injected.append("healed"), deadly=victims)

    monkeypatch.setattr(module, "Traffic", Traffic)
    monkeypatch.setattr(module, "Observer", Observer)
    monkeypatch.setattr(module, "inject", inject)
    monkeypatch.setattr(module, "revive", lambda cluster, allowed: [])
    monkeypatch.setattr(module, "wait_until_whole", lambda *_: None)
    monkeypatch.setattr(module, "undeleted", lambda *_: [])
    return Chaos(Targets(Cluster(), Ensemble(), Links(), {}), History(time.monotonic), injected.append)


def step(*names, number=1):
    return Step(number, tuple(BY_NAME[name] for name in names), 0.0, 0.0, tuple(range(len(names))))


def phases(chaos):
    return [(op.nemesis, op.phase) for op in chaos._history.ops() if isinstance(op, Disturbed)]


def test_each_step_injects_heals_and_waits_for_the_recovery(chaos, injected):
    chaos.run(iter([step("kill-any"), step("cut-off", number=2)]), seconds=60)
    assert [each for each in injected if isinstance(each, tuple)] == [("kill-any", 1), ("cut-off", 1)]
    assert injected.count("healed") == 2
    whole = (Phase.INJECT, Phase.HEAL, Phase.RECOVERED)
    assert phases(chaos) == [(n, p) for n in ("kill-any", "cut-off") for p in whole]
    assert (chaos.findings.steps, chaos.findings.cuts) == (2, 1)
    assert chaos.findings.problems == ["a reader ended early"]


def test_the_second_of_a_pair_hits_others(chaos, injected):
    chaos.run(iter([step("kill-several", "pause-several")]), seconds=60)
    assert injected[:2] == [("kill-several", 2), ("pause-several", 1)]


def test_a_cut_that_dropped_nothing_does_not_count(chaos):
    chaos._targets.links.dropped = 0
    chaos.run(iter([step("cut-off")]), seconds=60)
    assert chaos.findings.cuts == 0


def test_time_that_is_over_ends_the_schedule_after_one_step(chaos, injected):
    chaos.run(iter([step("kill-any"), step("kill-leader")]), seconds=0)
    assert [each[0] for each in injected if isinstance(each, tuple)] == ["kill-any"]
    assert chaos._traffic.stopped


def test_time_is_not_over_before_the_network_was_cut(chaos, injected):
    steps = iter([step("kill-any"), step("cut-off"), step("kill-leader")])
    chaos.run(steps, seconds=0, least_cuts=1)
    assert [each[0] for each in injected if isinstance(each, tuple)] == ["kill-any", "cut-off"]


@pytest.mark.parametrize(
    "error",
    [
        NotRecoveredError("2 of 6"),
        ClientFailed("fatal"),
        TimeoutError("late"),
        ClusterError("hangs"),
        ZooKeeperStartError("it ended"),
    ],
)
def test_a_cluster_that_does_not_recover_ends_it_and_is_judged(chaos, monkeypatch, error):
    def never(*_):
        raise error

    monkeypatch.setattr(module, "wait_until_whole", never)
    chaos.run(iter([step("kill-any"), step("kill-any")]), seconds=60)
    assert chaos.findings.problems[0] == f"the cluster did not recover: {error}"
    assert chaos._traffic.stopped
    assert chaos.findings.steps == 0


def test_a_fault_that_is_not_undone_is_no_recovery(chaos, monkeypatch):
    monkeypatch.setattr(module, "RECOVERY_TIMEOUT_S", 0.0)
    fault = InjectedFault("done", lambda: None, lacking=lambda: "a block is damaged")
    monkeypatch.setattr(module, "inject", lambda *_: fault)
    chaos.run(iter([step("damage-flip")]), seconds=60)
    assert "a block is damaged" in chaos.findings.problems[0]
    assert chaos.findings.steps == 0


def test_a_fault_that_did_less_than_its_name_says_is_healed_and_does_not_count(chaos, injected, monkeypatch):
    fault = InjectedFault("done", lambda: injected.append("healed"), missed="no other replica is in sync")
    monkeypatch.setattr(module, "inject", lambda *_: fault)
    chaos.run(iter([step("power-cut-any")]), seconds=60)
    assert "healed" in injected
    assert chaos.findings.notes[0] == "power-cut-any could not be injected: no other replica is in sync"
    assert [phase for _, phase in phases(chaos)] == [*Phase]
    assert chaos.findings.steps == 0


def test_replicas_that_differ_in_the_end_are_a_problem(chaos, monkeypatch):
    monkeypatch.setattr(module, "differing", lambda *_: ["t-0: on broker 2 offsets 5 to 6 are missing"])
    chaos.run(iter([step("kill-any")]), seconds=60)
    assert "t-0: on broker 2 offsets 5 to 6 are missing" in chaos.findings.problems


def test_the_topics_are_flushed_where_that_is_asked_for(chaos):
    assert not chaos._traffic.flushed
    assert Chaos(chaos._targets, History(time.monotonic), print, flushed=True)._traffic.flushed


def test_a_run_that_is_broken_off_halts_the_traffic(chaos, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "wait_until_whole", interrupted)
    with pytest.raises(KeyboardInterrupt):
        chaos.run(iter([step("kill-any")]), seconds=60)
    assert chaos._traffic.halted
    assert not chaos._traffic.stopped


def test_a_nemesis_that_missed_is_noted(chaos, monkeypatch):
    def refused(*_):
        raise WireError("there is no such znode")

    monkeypatch.setattr(module, "inject", refused)
    chaos.run(iter([step("session-expiry")]), seconds=60)
    assert chaos.findings.notes[0] == "session-expiry could not be injected: there is no such znode"
    assert [phase for _, phase in phases(chaos)] == [*Phase]
    assert chaos.findings.steps == 0


def test_a_nemesis_without_victims_misses(chaos, injected):
    chaos.run(iter([step("kill-all", "pause-any")]), seconds=60)
    assert [each for each in injected if isinstance(each, tuple)] == [("kill-all", 3)]
    assert chaos.findings.notes[0] == "pause-any could not be injected: no broker is left as a victim"
    assert chaos.findings.steps == 1


def test_a_run_without_any_fault_comes_to_an_end(chaos, monkeypatch):
    def refused(*_):
        raise WireError("there is no such znode")

    monkeypatch.setattr(module, "inject", refused)
    chaos.run(itertools.repeat(step("cut-off")), seconds=0, least_cuts=1)
    assert (chaos.findings.steps, chaos.findings.cuts) == (0, 0)
    assert len(phases(chaos)) == 4 * module.OVERTIME_STEPS


def test_a_run_without_a_cut_comes_to_an_end(chaos):
    chaos._targets.links.dropped = 0
    chaos.run(itertools.repeat(step("cut-off")), seconds=0, least_cuts=1)
    assert (chaos.findings.steps, chaos.findings.cuts) == (module.OVERTIME_STEPS, 0)


def test_a_cut_that_missed_does_not_count_by_what_others_dropped(chaos, monkeypatch):
    def refused(name, targets, victims):
        if name == "cut-off":
            raise NetworkError("no namespace")
        return InjectedFault("done", lambda: None)

    monkeypatch.setattr(module, "inject", refused)
    chaos.run(iter([step("lossy-links", "cut-off")]), seconds=60)
    assert (chaos.findings.steps, chaos.findings.cuts) == (1, 0)


def test_a_broker_that_ends_after_the_last_recovery_is_a_problem(chaos, monkeypatch):
    monkeypatch.setattr(module, "ended", lambda cluster: ["broker 2 ended by itself with status 1: words"])
    chaos.run(iter([step("kill-any")]), seconds=60)
    assert "broker 2 ended by itself with status 1: words" in chaos.findings.problems


def test_victims_are_chosen_by_the_last_look_that_was_answered(chaos):
    assert chaos._look() == ClusterView()
    chaos._observer.look = lambda timeout_s: ClusterView(controller=3)
    assert chaos._look().controller == 3
    chaos._observer = Observer("b:1")
    assert chaos._look().controller == 3
