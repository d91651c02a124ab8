"""What a network asks of ``ip``; tests/faults tries it for real."""

import os

import pytest

from barnabas.chaos.targets import links
from barnabas.chaos.targets import network as module
from barnabas.chaos.targets.links import NetworkError
from barnabas.chaos.targets.network import Network, why_not


def left_overs(command):
    """What a machine says on which a dead process left a namespace, and which has a net of its own."""
    if "addr" in command and "add" not in command:
        return "3: other    inet 198.18.0.254/24 scope global other\n"
    return "barnabas-999999999-x (id: 3)\nother\n" if command[2] == "list" else ""


@pytest.fixture
def machine(machine_that, monkeypatch):
    monkeypatch.setattr(module.random, "choice", lambda nets: nets[0])
    return machine_that(left_overs, module, links)


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


def test_the_links_are_those_of_the_namespaces(machine):
    network = Network(["a", "b"])
    network.start()
    assert network.links.can_delay
    machine.commands.clear()
    network.links.cut([("a", "b")])
    (command,) = machine.commands
    assert command.endswith(inside("b", "iptables -w -A INPUT -s 198.18.1.1 -j DROP").removeprefix("ip"))


def test_the_reason_why_it_is_unavailable_is_returned(machine, monkeypatch):
    monkeypatch.setattr(module.os, "geteuid", lambda: 1000)
    assert why_not() == "network namespaces need root"
    monkeypatch.setattr(module.os, "geteuid", lambda: 0)
    monkeypatch.setattr(module.shutil, "which", lambda name: None if name == "iptables" else "/sbin/ip")
    assert why_not() == "there is no iptables (Debian's package iptables)"
    monkeypatch.setattr(module.shutil, "which", lambda name: f"/sbin/{name}")
    assert why_not() is None
    machine.refused = {"veth"}
    assert why_not() == "ip: refused"
