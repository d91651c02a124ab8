"""The controller is killed, loses its disk and is back long before its session would have ended."""

from __future__ import annotations

import shutil

import pytest

from barnabas.local.cluster import LocalCluster
from tests.trial import Trial

LONGEST_SESSION = {"zookeeper.session.timeout.ms": "60000"}


@pytest.mark.faults
@pytest.mark.timeout(180)
def test_a_controller_that_returns_within_its_session_with_an_empty_disk_loses_nothing(tmp_path, zk_connect):
    with LocalCluster(tmp_path / "cluster", overrides=LONGEST_SESSION, zookeeper=zk_connect) as cluster:
        with Trial(cluster) as trial:
            trial.workload.wait_for_progress(30)
            before = trial.look()
            victim = trial.nemesis.kill_controller()
            assert victim in {partition.leader for partition in before.partitions.values()}
            trial.history.fault(f"empty the log directories of broker {victim}")
            # The lock stays: who holds it follows its former life at once; others wait out its session.
            for log in (cluster.brokers[victim].directory / "data").glob("*-*[0-9]"):
                shutil.rmtree(log)
            cluster.restart(victim, wait=False)
            # Half a session: nobody may have to wait for the end of the one that the dead controller held.
            trial.workload.wait_for_progress(30)
            trial.wait_until_in_sync()
        verdict = trial.judge(keep_in=tmp_path)
    assert verdict.problems() == []
    assert verdict.unknown == verdict.failed == 0
    assert verdict.acknowledged == verdict.read == verdict.sent
