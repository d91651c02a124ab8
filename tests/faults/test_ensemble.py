"""The leader of the ZooKeepers is killed under load, and the controller at the same time."""

from __future__ import annotations

import pytest

from barnabas.chaos.__main__ import epochs_of
from barnabas.local.cluster import LocalCluster
from barnabas.local.ensemble import local_ensemble
from tests.trial import Trial


@pytest.mark.faults
@pytest.mark.timeout(600)
def test_the_death_of_the_zookeepers_leader_loses_nothing(tmp_path):
    with (
        local_ensemble(tmp_path) as ensemble,
        LocalCluster(tmp_path, zookeeper=ensemble.address) as cluster,
    ):
        with Trial(cluster) as trial:
            trial.workload.wait_for_progress(60)
            leader = ensemble.leader()
            trial.history.fault(f"SIGKILL {leader}, which leads the ensemble")
            ensemble.servers[leader].kill()
            # What follows needs a controller that reads and writes ZooKeeper.
            victim = trial.nemesis.kill_controller()
            trial.workload.wait_for_progress(120)
            trial.nemesis.restart(victim)
            trial.wait_until_in_sync(120)
            ensemble.start()
            trial.workload.wait_for_progress(60)
        verdict = trial.judge(keep_in=tmp_path)
        epochs = epochs_of(tmp_path)
    assert verdict.problems() == []
    assert verdict.acknowledged == verdict.read == verdict.sent
    assert list(epochs.problems) == []
    assert epochs.controllers > 1
    assert epochs.elections > len(trial.partitions)
