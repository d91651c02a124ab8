"""Three ZooKeepers as processes: whichever of them dies, what was written stays, and one history is told."""

from __future__ import annotations

import pytest
from kazoo.client import KazooClient

from barnabas.chaos.checker.quorum import agreed
from barnabas.chaos.checker.txn_log import Change, Txn, ZnodeChange, read_txns
from barnabas.local.ensemble import Ensemble, local_ensemble
from barnabas.local.waiting import wait_until
from barnabas.local.zookeeper import EmbeddedZooKeeper
from barnabas.local.zookeeper_jars import ZooKeeperStartError


def leader_of(ensemble: Ensemble) -> str:
    """Who leads, once somebody does."""

    def found() -> str | None:
        try:
            return ensemble.leader()
        except ZooKeeperStartError:
            return None

    return wait_until(found, "a leader")


def txns(server: EmbeddedZooKeeper) -> list[Txn]:
    """What lies in its log."""
    files = sorted(server.directory.glob("datalog/version-2/log.*"))
    return [txn for file in files for txn in read_txns(file.read_bytes())]


@pytest.mark.timeout(300)
def test_a_write_outlives_the_leader_that_took_it(tmp_path):
    with local_ensemble(tmp_path) as ensemble:
        client = KazooClient(ensemble.address, timeout=30.0)
        client.start(60)
        led = set()
        for number in range(2):
            client.retry(client.create, f"/written-{number}", str(number).encode())
            leader = leader_of(ensemble)
            led.add(leader)
            ensemble.servers[leader].kill()
            client.retry(client.create, f"/after-{number}", b"")
            assert leader_of(ensemble) != leader
            ensemble.start()
        assert len(led) > 1
        client.stop()
        client.close()
        logs = [txns(server) for server in ensemble.servers.values()]
    created = [change for txn in agreed(logs) for change in txn.changes if change.change is Change.CREATE]
    assert created == [
        ZnodeChange(Change.CREATE, path, data)
        for number in range(2)
        for path, data in ((f"/written-{number}", str(number).encode()), (f"/after-{number}", b""))
    ]


def test_a_member_that_cannot_run_ends_the_others(tmp_path):
    (tmp_path / "zookeeper-3").mkdir()
    (tmp_path / "zookeeper-3" / "data").write_text("a file where a directory must be")
    ensemble = local_ensemble(tmp_path)
    with pytest.raises(OSError, match="zookeeper-3"), ensemble:
        pass
    assert {server.pid for server in ensemble.servers.values()} == {None}
