"""Leader and controller are killed by turns under load: what was acknowledged is there, once and in order."""

from __future__ import annotations

import pytest

from barnabas.workload.clients import LIBRARIES
from tests.clusters import FAULTS
from tests.trial import Trial

ROUNDS = 2


@pytest.fixture(scope="module")
def cluster(request, shared_clusters):
    with shared_clusters.lent(request.session, FAULTS) as running:
        yield running


def wait_for_a_controller_other_than(dead, trial):
    trial.wait_for(lambda view: view.controller not in (None, dead), "a live controller")


@pytest.mark.faults
@pytest.mark.timeout(300)
@pytest.mark.parametrize("library", LIBRARIES)
def test_every_acknowledged_record_survives_the_kills_once_and_in_order(cluster, tmp_path, library):
    with Trial(cluster, library, topic=f"kills-{library}") as trial:
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
