"""The ISR, seen from outside while a follower's fetching is stopped."""

from __future__ import annotations

from kazoo.client import KazooClient

from tests.trial import Trial

FETCHING = "follower.fetch"


def raise_versions(cluster, tps):
    """Write each partition's state once more, so that it stands under another version than leaders know."""
    zk = KazooClient(cluster.zookeeper_connect)
    zk.start()
    for tp in tps:
        path = f"/brokers/topics/{tp.topic}/partitions/{tp.partition}/state"
        zk.set(path, zk.get(path)[0])
    zk.stop()
    zk.close()


def test_a_follower_whose_fetching_alone_stops_leaves_the_isr_and_returns(cluster, tmp_path):
    """KAFKA-1382, KAFKA-2729: also where somebody has raised the version of the state behind the leader."""
    with Trial(cluster, topic="fetching") as trial:
        trial.workload.wait_for_progress(30)
        raise_versions(cluster, trial.partitions)
        led = {p.leader for p in trial.look().partitions.values()}
        slow = cluster.brokers[max(led)]
        slow.arm(FETCHING, "pause")
        shrunk = trial.wait_for(
            lambda view: all(slow.id not in p.isr for p in view.partitions.values() if p.leader != slow.id),
            f"an ISR without broker {slow.id}",
        )
        assert slow.id in shrunk.brokers, "its session lives"
        assert any(p.leader == slow.id for p in shrunk.partitions.values()), "it leads on"
        trial.workload.wait_for_progress(30)
        slow.arm(FETCHING, "off")
        trial.wait_until_in_sync()
    verdict = trial.judge(tmp_path)
    assert verdict.problems() == []
    assert verdict.acknowledged == verdict.sent
