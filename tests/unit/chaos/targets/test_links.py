"""What links ask of ``iptables`` and ``tc``; tests/faults and tests/containers try it for real."""

import pytest

from barnabas.chaos.targets import links as module
from barnabas.chaos.targets.links import CLIENTS, Links, NetworkError
from barnabas.local.place import Place

COUNTERS = """Chain INPUT (policy ACCEPT 9 packets, 4 bytes)
    pkts      bytes target     prot opt in     out     source               destination
      12      720 DROP       0    --  *      *       198.18.0.2           0.0.0.0/0
       3      180 DROP       0    --  *      *       198.18.0.3           0.0.0.0/0
      70     4200 DROP       0    --  eth0   *       0.0.0.0/0            0.0.0.0/0     statistic mode random
"""
PLACES = {
    CLIENTS: Place("10.0.0.254"),
    "a": Place("10.0.0.1", ("in-a",)),
    "b": Place("10.0.0.2", ("in-b",)),
}


@pytest.fixture
def machine(machine_that):
    """Has counted packets in b."""
    return machine_that(
        lambda command: COUNTERS if "-L" in command and "INPUT" in command and "in-b" in command else "",
        module,
    )


def links():
    """Those of two nodes."""
    return Links(lambda: PLACES)


def test_a_cut_drops_at_the_receiver_and_towards_clients_at_the_sender(machine):
    links().cut([("a", "b"), (CLIENTS, "b"), ("b", CLIENTS)])
    assert machine.commands == [
        "in-b iptables -w -A INPUT -s 10.0.0.1 -j DROP",
        "in-b iptables -w -A INPUT -s 10.0.0.254 -j DROP",
        "in-b iptables -w -A OUTPUT -d 10.0.0.254 -j DROP",
    ]


def test_healing_undoes_all_and_counts_what_cuts_dropped_and_not_what_was_lost(machine):
    links().lose("a", 0.1)
    assert links().heal() == 15
    for chain in ("INPUT", "OUTPUT"):
        assert f"in-a iptables -w -F {chain}" in machine.commands
    assert "in-b tc qdisc del dev eth0 root" in machine.commands


def test_a_node_without_a_namespace_has_nothing_to_cut(machine):
    with pytest.raises(NetworkError, match="gone has no network namespace now"):
        links().cut([("a", "gone")])
    with pytest.raises(NetworkError, match="gone has no network namespace now"):
        links().lose("gone", 0.1)
    assert machine.commands == []


@pytest.mark.parametrize(("refused", "qdisc"), [(set(), "netem delay 100ms"), ({"netem"}, "tbf rate 3mbit")])
def test_a_slow_link_is_as_slow_as_the_kernel_can(machine, refused, qdisc):
    machine.refused = refused
    tried = links()
    tried.try_netem()
    tried.slow("a")
    assert tried.can_delay is (not refused)
    assert f"root {qdisc}" in machine.commands[-1]
