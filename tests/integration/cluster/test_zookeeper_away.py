"""ZooKeeper goes away and comes back, or its connection alone: nothing is lost, each broker says so once."""

from __future__ import annotations

import asyncio
import re
import time

from barnabas.cluster import LocalCluster
from barnabas.faults.trial import Trial
from barnabas.observe import ControllerEpochs

SESSION_MS = 4_000
LOST, BACK = "The connection to ZooKeeper at .* was lost", "Connected to ZooKeeper at .* again"


def said(broker, words):
    """The lines of a broker's server.log that match ``words``."""
    log = broker.directory / "logs" / "server.log"
    return [line for line in log.read_text().splitlines() if re.search(words, line)]


def epoch(cluster):
    return ControllerEpochs(broker.state_change_log for broker in cluster.brokers.values()).highest()


def wait_until_all_say(cluster, words, timeout_s=20.0):
    deadline = time.monotonic() + timeout_s
    while not all(said(broker, words) for broker in cluster.brokers.values()):
        assert time.monotonic() < deadline, f"not every broker said {words!r} within {timeout_s} s"
        time.sleep(0.05)


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
            assert len(said(broker, LOST)) == len(said(broker, BACK)) == 1
    assert verdict.problems() == []
    assert verdict.acknowledged == verdict.sent


async def test_a_cut_connection_that_keeps_the_session_changes_nothing(zk_proxy, tmp_path):
    overrides = {"zookeeper.session.timeout.ms": str(SESSION_MS)}
    connect = f"{zk_proxy.address}/{tmp_path.name}"
    cluster = LocalCluster(tmp_path / "cluster", overrides=overrides, zookeeper=connect)
    await asyncio.to_thread(cluster.start)
    try:
        trial = await asyncio.to_thread(Trial, cluster)
        with trial:
            await asyncio.to_thread(trial.workload.wait_for_progress, 30)
            before, epoch_before = await asyncio.to_thread(trial.look), epoch(cluster)
            trial.history.fault("cut every connection to ZooKeeper")
            zk_proxy.cut()
            zk_proxy.mend()
            await asyncio.to_thread(wait_until_all_say, cluster, BACK)
            await asyncio.to_thread(trial.workload.wait_for_progress, 30)
            after = await asyncio.to_thread(trial.look)
            assert after == before
            assert epoch(cluster) == epoch_before
        verdict = await asyncio.to_thread(trial.judge, tmp_path)
        for broker in cluster.brokers.values():
            assert len(said(broker, LOST)) == len(said(broker, BACK)) == 1
    finally:
        await asyncio.to_thread(cluster.stop)
    assert verdict.problems() == []
    assert verdict.acknowledged == verdict.sent
