"""A network of namespaces on one machine, joined by a bridge, with links that can be disturbed.

Each node (a broker or a ZooKeeper) gets its own namespace with one interface ``eth0``. The bridge has its own
namespace too, so that the machine's firewall does not see its packets. The machine itself, on which the
clients run, has one interface on the bridge. Addresses are from 198.18.0.0/15, which RFC 2544 reserves for
tests. This needs root, ``ip`` (iproute2) and ``iptables`` on Linux.
"""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from barnabas.chaos.targets.commands import run
from barnabas.chaos.targets.links import CLIENTS, Links, NetworkError
from barnabas.local.place import Place

_PREFIX = "barnabas"
_NAME = re.compile(rf"^{_PREFIX}-(\d+)-")
_NETS = tuple(f"198.{second}.{third}" for second in (18, 19) for third in range(256))
_NET = re.compile(r"\b198\.1[89]\.\d{1,3}(?=\.)")


_run = partial(run, NetworkError)


def why_not() -> str | None:
    """Return why this machine cannot have such a network; None if it can."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "network namespaces need root"
    for program, package in (("ip", "iproute2"), ("iptables", "iptables")):
        if shutil.which(program) is None:
            return f"there is no {program} (Debian's package {package})"
    try:
        with Network(["probe"]) as network:
            network.links.cut([(CLIENTS, "probe")])
    except NetworkError as error:
        return str(error)
    return None


class Network:
    """The namespaces of ``nodes``, which exist from ``start`` to ``stop``.

    Leftovers of killed processes are removed at the next start.

    Attributes:
        places: The place of each node, for starting its processes.
        links: The links between the nodes.
    """

    def __init__(self, nodes: Iterable[str]) -> None:
        self._nodes = tuple(nodes)
        self._switch = f"{_PREFIX}-{os.getpid()}-switch"
        self._uplink = f"brn{os.getpid()}"
        net = _free_net()
        self._addresses = {name: f"{net}.{n}" for n, name in enumerate(self._nodes, start=1)}
        self._addresses[CLIENTS] = f"{net}.254"
        self.places: Mapping[str, Place] = {
            node: Place(self._addresses[node], (_ip(), "netns", "exec", self._namespace(node)))
            for node in self._nodes
        }
        everywhere = {**self.places, CLIENTS: Place(self._addresses[CLIENTS])}
        self.links = Links(lambda: everywhere)

    def start(self) -> None:
        """Create the network.

        Raises:
            NetworkError: A command failed; everything created before is removed.
        """
        _remove_leftovers()
        try:
            self._build()
        except NetworkError:
            self.stop()
            raise

    def _build(self) -> None:
        _run("ip", "netns", "add", self._switch)
        self._in_switch("ip", "link", "add", "bridge", "type", "bridge")
        self._in_switch("ip", "link", "set", "bridge", "up")
        _run(
            "ip", "link", "add", self._uplink, "type", "veth", "peer", "name", CLIENTS, "netns", self._switch
        )
        _run("ip", "addr", "add", f"{self._addresses[CLIENTS]}/24", "dev", self._uplink)
        _run("ip", "link", "set", self._uplink, "up")
        self._plug(CLIENTS)
        for node in self._nodes:
            namespace = self._namespace(node)
            _run("ip", "netns", "add", namespace)
            _run(
                *("ip", "link", "add", "eth0", "netns", namespace, "type", "veth"),
                *("peer", "name", node, "netns", self._switch),
            )
            self._plug(node)
            self._in(node, "ip", "addr", "add", f"{self._addresses[node]}/24", "dev", "eth0")
            self._in(node, "ip", "link", "set", "eth0", "up")
            self._in(node, "ip", "link", "set", "lo", "up")
        self.links.try_netem()

    def _plug(self, node: str) -> None:
        self._in_switch("ip", "link", "set", node, "master", "bridge")
        self._in_switch("ip", "link", "set", node, "up")

    def stop(self) -> None:
        """Remove the network; processes in it continue without one."""
        for name in (*map(self._namespace, self._nodes), self._switch):
            _run("ip", "netns", "del", name, may_fail=True)
        _run("ip", "link", "del", self._uplink, may_fail=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _in(self, node: str, *command: str) -> str:
        return _run("ip", "netns", "exec", self._namespace(node), *command)

    def _in_switch(self, *command: str) -> str:
        return _run("ip", "netns", "exec", self._switch, *command)

    def _namespace(self, node: str) -> str:
        return f"{_PREFIX}-{os.getpid()}-{node}"


def _ip() -> str:
    return shutil.which("ip") or "/sbin/ip"


def _free_net() -> str:
    """Find the first three bytes of addresses that no other network of this machine uses."""
    taken = set(_NET.findall(_run("ip", "-o", "-4", "addr")))
    return random.choice([net for net in _NETS if net not in taken])


def _remove_leftovers() -> None:
    for line in _run("ip", "netns", "list").splitlines():
        name = line.split()[0] if line.split() else ""
        owner = _NAME.match(name)
        if owner and not Path(f"/proc/{owner[1]}").exists():
            _run("ip", "netns", "del", name, may_fail=True)
