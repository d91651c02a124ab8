"""Leader and controller are killed by turns under load: what was acknowledged is there, once and in order."""

from __future__ import annotations

import pytest

from barnabas.local.cluster import LocalCluster
from barnabas.workload.clients import LIBRARIES
from tests.trial import Trial

ROUNDS = 2
OVERRIDES = {"zookeeper.session.timeout.ms": "3000"}


def wait_for_a_controller_other_than(dead, trial):
    trial.wait_for(lambda view: view.controller not in (None, dead), "a live controller")


@pytest.mark.faults
@pytest.mark.timeout(300)
@pytest.mark.parametrize("library", LIBRARIES)
def test_every_acknowledged_record_survives_the_kills_once_and_in_order(tmp_path, library):
    with LocalCluster(tmp_path / "cluster", overrides=OVERRIDES) as cluster:
        with Trial(cluster, library) as trial:
            trial.workload.wait_for_progress(30)
            for _ in range(ROUNDS):
                for strike in (trial.nemesis.kill_leader_of_most, trial.nemesis.kill_controller):
                    victim = strike()
                    trial.workload.wait_for_progress(40)
                    wait_for_a_controller_other_than(victim, trial)
                    trial.nemesis.restart(victim)
                    trial.wait_until_in_sync()
            trial.workload.wait_for_progress(30)
        verdict = trial.judge(keep_in=tmp_path)
    assert verdict.problems() == []
    assert verdict.unknown == verdict.failed == 0
    assert verdict.acknowledged == verdict.read == verdict.sent
    assert verdict.acknowledged > 1_000
