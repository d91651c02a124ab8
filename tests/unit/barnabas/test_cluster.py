import pytest

from barnabas.cluster import ClusterError, LocalCluster
from barnabas.place import Place


def test_brokers_are_numbered_from_one_and_have_directories_of_their_own(tmp_path):
    cluster = LocalCluster(tmp_path, brokers=2, zookeeper="somewhere:2181/x")
    assert list(cluster.brokers) == [1, 2]
    assert cluster.brokers[1].dir == tmp_path / "broker-1"
    assert cluster.bootstrap == f"{cluster.brokers[1].kafka},{cluster.brokers[2].kafka}"
    assert cluster.zookeeper_connect == "somewhere:2181/x"
    assert cluster.zookeeper is None
    assert cluster.cluster_file == tmp_path / "cluster.json"
    assert cluster.stop() == []


def test_without_a_zookeeper_one_is_embedded(tmp_path):
    cluster = LocalCluster(tmp_path, brokers=1)
    assert cluster.zookeeper.directory == tmp_path / "zookeeper"
    assert cluster.zookeeper_connect == cluster.zookeeper.address


def test_a_broker_that_cannot_start_fails_the_start_with_its_last_words(tmp_path):
    cluster = LocalCluster(tmp_path, brokers=1, overrides={"num.partitions": "0"}, zookeeper="127.0.0.1:1")
    with pytest.raises(ClusterError, match=r"broker 1 ended with status 1: .*num\.partitions"):
        cluster.start()
    assert cluster.brokers[1].pid is None


def test_waiting_may_be_given_up(tmp_path):
    cluster = LocalCluster(tmp_path, brokers=1, zookeeper="127.0.0.1:1")
    cluster.wait_ready(0, given_up=lambda: True)


def test_no_controller_in_time_is_an_error(tmp_path):
    cluster = LocalCluster(tmp_path, brokers=1, zookeeper="127.0.0.1:1")
    cluster.brokers[1].console.parent.mkdir(parents=True)
    cluster.brokers[1].console.touch()
    with pytest.raises(ClusterError, match="did not have one controller within 0 s"):
        cluster.controller_id(timeout_s=0)


def test_processes_may_live_elsewhere(tmp_path):
    places = {"zookeeper": Place("198.18.0.1"), "broker-1": Place("198.18.0.2", ("/bin/env", "A=1"))}
    cluster = LocalCluster(tmp_path, brokers=1, places=places)
    assert cluster.zookeeper_connect.startswith("198.18.0.1:")
    assert cluster.bootstrap.startswith("198.18.0.2:")
    assert cluster.brokers[1].command.startswith("/bin/env A=1 ")
