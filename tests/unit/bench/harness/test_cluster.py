from pathlib import Path

import pytest

from barnabas.bench.harness import cluster as cluster_of_a_bench
from barnabas.bench.harness.cluster import broker_pids, running_cluster


class Process:
    def __init__(self, broker_id, pid):
        self.id, self.pid = broker_id, pid


class Recorder:
    """A cluster that only notes what is done to it."""

    made = None

    def __init__(self, directory, overrides):
        Recorder.made = self
        self.directory, self.overrides, self.deeds = Path(directory), overrides, []
        self.brokers = {1: Process(1, 4711), 2: Process(2, None)}

    def __enter__(self):
        self.deeds.append("start")
        return self

    def __exit__(self, *reason):
        assert self.directory.is_dir()
        self.deeds.append("stop")


def test_the_cluster_is_stopped_and_removed_afterwards(monkeypatch):
    monkeypatch.setattr(cluster_of_a_bench, "LocalCluster", Recorder)
    session = {"zookeeper.session.timeout.ms": "2000"}
    with running_cluster(session) as cluster:
        assert broker_pids(cluster) == {"broker 1": 4711}
    assert cluster.deeds == ["start", "stop"]
    assert not cluster.directory.exists()
    assert cluster.overrides == {"state.change.log.level": "INFO", **session}


def test_it_is_stopped_even_when_the_bench_fails(monkeypatch):
    monkeypatch.setattr(cluster_of_a_bench, "LocalCluster", Recorder)

    def fail():
        with running_cluster():
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert Recorder.made.deeds == ["start", "stop"]
    assert not Recorder.made.directory.exists()
