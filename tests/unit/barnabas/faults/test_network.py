"""What a network asks of ``ip``, ``iptables`` and ``tc``; tests/faults tries it for real."""

import os

import pytest

from barnabas.faults import network as module
from barnabas.faults.network import CLIENTS, Network, NetworkError, why_not

COUNTERS = """Chain INPUT (policy ACCEPT 9 packets, 4 bytes)
    pkts      bytes target     prot opt in     out     source               destination
      12      720 DROP       0    --  *      *       198.18.0.2           0.0.0.0/0
       3      180 DROP       0    --  *      *       198.18.0.3           0.0.0.0/0
"""


@pytest.fixture
def machine(monkeypatch):
    """Takes every command; those with a word of ``refused`` fail."""

    class Machine:
        def __init__(self):
            self.commands = []
            self.refused = set()

        def run(self, *command, may_fail=False):
            self.commands.append(" ".join(command))
            if self.refused & set(command) and not may_fail:
                raise NetworkError(f"{command[0]}: refused")
            if "-L" in command:
                return COUNTERS if "INPUT" in command and command[3].endswith("-b") else ""
            if "addr" in command and "add" not in command:
                return "3: other    inet 198.18.0.254/24 scope global other\n"
            return "barnabas-999999999-x (id: 3)\nother\n" if command[2] == "list" else ""

    machine = Machine()
    monkeypatch.setattr(module, "_run", machine.run)
    monkeypatch.setattr(module.random, "choice", lambda nets: nets[0])
    return machine


def inside(node, command):
    return f"ip netns exec barnabas-{os.getpid()}-{node} {command}"


def test_each_node_has_a_namespace_and_an_address_on_the_bridge(machine):
    with Network(["a", "b"]) as network:
        assert [place.host for place in network.places.values()] == ["198.18.1.1", "198.18.1.2"]
        assert network.places["b"].enter[1:] == ("netns", "exec", f"barnabas-{os.getpid()}-b")
        assert inside("b", "ip addr add 198.18.1.2/24 dev eth0") in machine.commands
        assert inside("switch", "ip link set b master bridge") in machine.commands
        machine.commands.clear()
    assert [c.split()[1:3] for c in machine.commands] == [["netns", "del"]] * 3 + [["link", "del"]]


def test_what_a_dead_process_left_is_removed_first(machine):
    Network(["a"]).start()
    assert machine.commands[2] == "ip netns del barnabas-999999999-x"


def test_a_network_that_cannot_be_built_leaves_nothing(machine):
    machine.refused = {"master"}
    with pytest.raises(NetworkError):
        Network(["a"]).start()
    assert machine.commands[-1].startswith("ip link del")


def test_a_cut_drops_at_the_receiver_and_towards_clients_at_the_sender(machine):
    network = Network(["a", "b"])
    machine.commands.clear()
    network.cut("a", "b")
    network.cut(CLIENTS, "b")
    network.cut("b", CLIENTS)
    assert machine.commands == [
        inside("b", "iptables -w -A INPUT -s 198.18.1.1 -j DROP"),
        inside("b", "iptables -w -A INPUT -s 198.18.1.254 -j DROP"),
        inside("b", "iptables -w -A OUTPUT -d 198.18.1.254 -j DROP"),
    ]


def test_healing_undoes_all_and_counts_what_was_dropped(machine):
    network = Network(["a", "b"])
    network.lose("a", 0.1)
    assert network.heal() == 15
    assert inside("a", "iptables -w -F") in machine.commands
    assert inside("b", "tc qdisc del dev eth0 root") in machine.commands


@pytest.mark.parametrize(("refused", "qdisc"), [(set(), "netem delay 100ms"), ({"netem"}, "tbf rate 3mbit")])
def test_a_slow_link_is_as_slow_as_the_kernel_can(machine, refused, qdisc):
    machine.refused = refused
    network = Network(["a"])
    network.start()
    network.slow("a")
    assert network.can_delay is (not refused)
    assert f"root {qdisc}" in machine.commands[-1]


def test_where_it_cannot_be_had_the_reason_is_told(machine, monkeypatch):
    monkeypatch.setattr(module.os, "geteuid", lambda: 1000)
    assert why_not() == "network namespaces need root"
    monkeypatch.setattr(module.os, "geteuid", lambda: 0)
    monkeypatch.setattr(module.shutil, "which", lambda name: None if name == "iptables" else "/sbin/ip")
    assert why_not() == "there is no iptables (Debian's package iptables)"
    monkeypatch.setattr(module.shutil, "which", lambda name: f"/sbin/{name}")
    assert why_not() is None
    machine.refused = {"veth"}
    assert why_not() == "ip: refused"


def test_a_command_that_fails_is_named_with_what_it_said():
    with pytest.raises(NetworkError, match="false: status 1"):
        module._run("false")
    assert module._run("false", may_fail=True) == ""
    with pytest.raises(NetworkError, match="no-such-program"):
        module._run("no-such-program")
