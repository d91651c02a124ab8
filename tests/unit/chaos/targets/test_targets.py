"""The targets of faults, and the faults in words."""

from barnabas.chaos.nemeses.faults import InjectedFault, names
from barnabas.chaos.targets.targets import Targets, node_of
from barnabas.local.cluster import LocalCluster
from barnabas.local.ensemble import local_ensemble


def test_victims_are_named():
    assert names((2,)) == "broker 2"
    assert names((3, 1)) == "brokers 3, 1"


def test_of_most_faults_nothing_lacks_once_they_are_healed():
    fault = InjectedFault("done", lambda: None)
    assert (fault.lacking(), fault.missed, fault.deadly) == ("", "", ())


def test_its_nodes_are_the_zookeepers_and_the_brokers(tmp_path):
    targets = Targets(LocalCluster(tmp_path, zookeeper="nowhere:1"), local_ensemble(tmp_path), links=None)
    assert targets.zookeepers == ["zookeeper-1", "zookeeper-2", "zookeeper-3"]
    assert targets.others(2) == ["broker-1", "broker-3"]
    assert node_of(2) == "broker-2"
    targets.gather(tmp_path)
    assert list(tmp_path.iterdir()) == []
