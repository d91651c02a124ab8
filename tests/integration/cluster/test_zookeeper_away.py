"""ZooKeeper goes away and comes back, or its connection alone: nothing is lost, each broker says so once."""

from __future__ import annotations

import asyncio
import shutil
import time

from kazoo.client import KazooClient

from barnabas.local.cluster import LocalCluster
from barnabas.local.observe import Observer
from barnabas.local.waiting import wait_until
from tests.logged import log_lines
from tests.trial import Trial

SESSION_MS = 4_000
LOST, BACK = "The connection to ZooKeeper at .* was lost", "Connected to ZooKeeper at .* again"


def wait_until_all_say(cluster, words):
    brokers = cluster.brokers.values()
    wait_until(lambda: all(log_lines(broker, words) for broker in brokers), f"{words!r} of every broker")


def test_zookeeper_dies_under_load_and_returns(tmp_path):
    overrides = {"zookeeper.session.timeout.ms": str(SESSION_MS)}
    with LocalCluster(tmp_path / "cluster", overrides=overrides) as cluster:
        with Trial(cluster) as trial:
            trial.workload.wait_for_progress(30)
            trial.history.fault("SIGKILL ZooKeeper")
            cluster.zookeeper.kill()
            wait_until_all_say(cluster, LOST)
            trial.workload.wait_for_progress(30)  # leaders go on without it
            trial.history.fault("restart ZooKeeper")
            cluster.zookeeper.start()
            wait_until_all_say(cluster, BACK)
            trial.wait_until_in_sync()
            trial.workload.wait_for_progress(30)
        verdict = trial.judge(tmp_path)
        for broker in cluster.brokers.values():
            assert len(log_lines(broker, LOST)) == len(log_lines(broker, BACK)) == 1
    assert verdict.problems() == []
    assert verdict.acknowledged == verdict.sent


async def test_all_return_after_zookeeper_was_out_of_reach_for_two_sessions(zk_proxy, zookeeper, tmp_path):
    """KAFKA-5473: who could not open a new session at once never tried again."""
    session_ms = 3_000
    overrides = {"zookeeper.session.timeout.ms": str(session_ms)}
    cluster = LocalCluster(
        tmp_path / "cluster",
        brokers=2,
        overrides=overrides,
        zookeeper=f"{zk_proxy.address}/{tmp_path.name}",
    )
    witness = KazooClient(f"{zookeeper.address}/{tmp_path.name}")

    def registered():
        found = {id_: witness.exists(f"/brokers/ids/{id_}") for id_ in witness.get_children("/brokers/ids")}
        return {id_: stat.czxid for id_, stat in found.items() if stat is not None}

    def out_of_reach_and_back():
        witness.start()
        before = registered()
        assert len(before) == 2
        zk_proxy.cut()
        wait_until(lambda: registered() == {}, "the end of both sessions")
        time.sleep(session_ms / 1000)  # nothing tells of the time that passes
        zk_proxy.mend()
        wait_until(lambda: len(registered()) == 2, "both brokers registered")
        cluster.wait_ready()
        after = registered()
        assert all(after[id_] > before[id_] for id_ in before)
        Observer(cluster.bootstrap).create_topic("t", partitions=2, replication_factor=2, configs={})
        witness.stop()

    await asyncio.to_thread(cluster.start)
    try:
        await asyncio.to_thread(out_of_reach_and_back)
    finally:
        await asyncio.to_thread(cluster.stop)


def test_brokers_register_again_at_a_zookeeper_that_has_lost_its_data(tmp_path):
    overrides = {"zookeeper.session.timeout.ms": "2000"}
    with LocalCluster(tmp_path / "cluster", overrides=overrides) as cluster:
        Observer(cluster.bootstrap).create_topic("before", partitions=3)
        pids = [broker.pid for broker in cluster.brokers.values()]
        cluster.zookeeper.kill()
        for kept in ("data", "datalog"):
            shutil.rmtree(cluster.zookeeper.directory / kept, ignore_errors=True)
        cluster.zookeeper.start()
        wait_until_all_say(cluster, "the session is given up. .* ZooKeeper has lost data")
        client = KazooClient(cluster.zookeeper_connect)
        client.start()
        try:
            wait_until(lambda: registered(client) == set(cluster.brokers), "registrations of all brokers")
        finally:
            client.stop()
            client.close()
        cluster.wait_ready()
        Observer(cluster.bootstrap).create_topic("after", partitions=3)
        assert [broker.pid for broker in cluster.brokers.values()] == pids


def registered(client):
    path = "/brokers/ids"
    return set(map(int, client.get_children(path))) if client.exists(path) else set()
