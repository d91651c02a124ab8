import pytest

from barnabas.cluster.model.properties import parse_properties
from barnabas.local.cluster import LocalCluster
from barnabas.local.errors import ClusterError
from barnabas.local.place import Place
from barnabas.local.waiting import wait_until
from barnabas.local.zookeeper_security import ServerSecurity


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


def test_where_all_brokers_have_ended_nobody_waits(tmp_path):
    overrides = {"num.partitions": "0"}
    cluster = LocalCluster(tmp_path, brokers=2, overrides=overrides, zookeeper="127.0.0.1:1")
    try:
        cluster.launch()
        for broker in cluster.brokers.values():
            assert broker.wait(60)
        # Without a time limit: a wait would be one for ever.
        with pytest.raises(ClusterError) as told:
            cluster.wait_ready(float("inf"))
    finally:
        cluster.stop()
    for number in (1, 2):
        assert f"broker {number} ended with status 1: Invalid configuration: num.partitions has" in str(
            told.value
        )
        assert str(cluster.brokers[number].console) in str(told.value)


def test_waiting_may_be_given_up(tmp_path):
    cluster = LocalCluster(tmp_path, brokers=1, zookeeper="127.0.0.1:1")
    cluster.launch()
    try:
        cluster.wait_ready(0, given_up=lambda: True)
    finally:
        cluster.stop()


def test_brokers_wait_for_a_late_zookeeper_until_they_are_ended(tmp_path):
    overrides = {"zookeeper.connection.timeout.ms": "50"}
    cluster = LocalCluster(tmp_path, brokers=1, zookeeper="127.0.0.1:1", overrides=overrides)
    broker = cluster.brokers[1]
    cluster.launch()
    try:
        wait_until(lambda: broker.said().count("Waiting for ZooKeeper") > 1, "a broker that tries again", 60)
        with pytest.raises(
            ClusterError, match=r"did not serve within 0 s.*no ZooKeeper answered at 127\.0\.0\.1:1"
        ):
            cluster.wait_ready(0)
    finally:
        assert cluster.stop() == []
    assert broker.exit_status == 0


def test_no_controller_in_time_is_an_error(tmp_path):
    cluster = LocalCluster(tmp_path, brokers=1, zookeeper="127.0.0.1:1")
    cluster.brokers[1].console.parent.mkdir(parents=True)
    cluster.brokers[1].console.touch()
    with pytest.raises(ClusterError, match="did not have one controller within 0 s"):
        cluster.controller_id(timeout_s=0)


def test_a_second_process_has_a_brokers_id_and_endpoints_and_all_else_of_its_own(tmp_path):
    cluster = LocalCluster(tmp_path, brokers=2, zookeeper="127.0.0.1:1", overrides={"num.partitions": "0"})
    second = cluster.duplicate(2)
    assert second.wait(60)
    assert second.exit_status == 1  # by the setting that nobody can have
    assert "num.partitions" in second.said()
    settings = parse_properties(second.properties.read_text())
    first = cluster.brokers[2]
    assert settings["broker.id"] == "2"
    assert settings["advertised.listeners"].split(",")[0] == f"PLAINTEXT://{first.kafka}"
    assert first.kafka not in settings["listeners"]
    assert settings["log.dirs"] == str(tmp_path / "again-2" / "data")
    assert cluster.stop() == []


def test_processes_may_live_elsewhere(tmp_path):
    places = {"zookeeper": Place("198.18.0.1"), "broker-1": Place("198.18.0.2", ("/bin/env", "A=1"))}
    cluster = LocalCluster(tmp_path, brokers=1, places=places)
    assert cluster.zookeeper_connect.startswith("198.18.0.1:")
    assert cluster.bootstrap.startswith("198.18.0.2:")
    assert cluster.brokers[1].command.startswith("/bin/env A=1 ")


def test_an_unknown_broker_is_named_with_those_that_are_there(tmp_path):
    cluster = LocalCluster(tmp_path, brokers=2, zookeeper="127.0.0.1:1")
    for command in (cluster.kill, cluster.terminate, cluster.pause, cluster.resume, cluster.restart):
        with pytest.raises(ClusterError, match="there is no broker 9: expected one of 1, 2"):
            command(9)


def test_brokers_of_a_secured_zookeeper_log_in(tmp_path):
    security = ServerSecurity({"kafka": "secret"})
    cluster = LocalCluster(
        tmp_path, brokers=1, overrides={"zookeeper.set.acl": "false"}, zookeeper_security=security
    )
    cluster.write_properties(1)
    written = parse_properties(cluster.brokers[1].properties.read_text())
    assert written["java.security.auth.login.config"] == str(tmp_path / "zookeeper" / "jaas.conf")
    assert written["zookeeper.set.acl"] == "false"
    assert "secret" not in str(written)
    cluster.stop()
