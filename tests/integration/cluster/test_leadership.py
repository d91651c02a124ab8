"""Where leadership goes, and that it stays there."""

from __future__ import annotations

from tests.trial import Trial


def test_leadership_stays_where_it_moved_when_the_old_leader_returns(cluster, tmp_path):
    with Trial(cluster, topic="leadership") as trial:
        trial.workload.wait_for_progress(30)
        old = trial.nemesis.kill_leader_of_most()
        moved = trial.wait_for(
            lambda view: all(p.leader not in (None, old) for p in view.partitions.values()), "new leaders"
        )
        trial.nemesis.restart(old)
        whole = trial.wait_until_in_sync()
        trial.workload.wait_for_progress(30)
        after = trial.look()
    for tp in trial.partitions:
        assert moved.partitions[tp].leader == whole.partitions[tp].leader == after.partitions[tp].leader
        assert old in after.partitions[tp].isr
    assert trial.judge(tmp_path).problems() == []
