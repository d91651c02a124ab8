"""What a network asks of ``ip``; tests/faults tries it for real."""

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


def test_what_a_dead_process_left_is_removed_first(machine):
    Network(["a"]).start()
    assert machine.commands[2] == "ip netns del barnabas-999999999-x"


def test_a_network_that_cannot_be_built_leaves_nothing(machine):
    machine.refused = {"master"}
    with pytest.raises(NetworkError):
        Network(["a"]).start()
    assert machine.commands[-1].startswith("ip link del")


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
