"""What an ensemble decides before a process exists; with processes it is in tests/integration."""

from __future__ import annotations

import pytest

from barnabas.local.ensemble import local_ensemble
from barnabas.local.place import Place
from barnabas.local.zookeeper_jars import ZooKeeperStartError


def test_every_member_has_a_directory_a_place_and_ports_of_its_own(tmp_path):
    ensemble = local_ensemble(tmp_path, 3, {"zookeeper-2": Place("198.18.0.2")})
    assert [server.directory.name for server in ensemble.servers.values()] == list(ensemble.servers)
    assert list(ensemble.servers) == ["zookeeper-1", "zookeeper-2", "zookeeper-3"]
    addresses = ensemble.address.split(",")
    assert [address.split(":")[0] for address in addresses] == ["127.0.0.1", "198.18.0.2", "127.0.0.1"]
    ports = [address.split(":")[1] for address in addresses]
    memberships = [server._membership for server in ensemble.servers.values()]
    assert [membership.number for membership in memberships] == [1, 2, 3]
    assert len({membership.servers[2] for membership in memberships}) == 1
    ports += [port for where in memberships[0].servers.values() for port in where.split(":")[1:]]
    assert len(set(ports)) == 9


@pytest.mark.parametrize(
    ("modes", "leader"),
    [
        (["follower", "leader", "follower"], "zookeeper-2"),
        ([None, "follower", "leader"], "zookeeper-3"),
        ([None, None, None], None),
        (["leader", "follower", "leader"], None),  # one of them was held and does not know yet
    ],
)
def test_one_leads_or_none(tmp_path, modes, leader):
    ensemble = local_ensemble(tmp_path)
    for server, mode in zip(ensemble.servers.values(), modes, strict=True):
        server.mode = lambda mode=mode: mode
    if leader is not None:
        assert ensemble.leader() == leader
    else:
        with pytest.raises(ZooKeeperStartError, match=r"^the ensemble has no leader now: \{'zookeeper-1': "):
            ensemble.leader()
