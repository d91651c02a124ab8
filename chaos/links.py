"""The links between nodes that live in network namespaces, wherever those come from: cut, slowed, made lossy.

A cut is one way: the receiver's namespace drops what comes from the sender (or, towards the clients, the
sender's drops what it sends), as a broken path does: no reset, no refusal, connections stand and say nothing.
Needs root, ``iptables`` and ``tc`` on Linux.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from barnabas.chaos.commands import run
from barnabas.local.place import Place

CLIENTS = "clients"
"""The machine itself, where the clients run, as a node."""

SLOW_DELAY_MS = 100
SLOW_RATE_MBIT = 3
"""What Trogdor's degraded network has: 100 ms and 3 Mbit/s."""

_DROPPED = re.compile(r"^\s*(\d+)\s+\d+\s+DROP\b(?!.*\bstatistic\b)", re.MULTILINE)
"""A rule of a cut, and how many packets it dropped; a rule that loses a part of them is none."""


class NetworkError(Exception):
    """The network cannot be had or changed; the message names the command and what it said."""


_run = partial(run, NetworkError)


class Links:
    """Those of some nodes, each of which has one interface ``eth0``.

    Args:
        look: Where each node that has a namespace lives now, and ``CLIENTS``.

    Attributes:
        can_delay: Whether this kernel has netem; without it a slow link is one of few bits (tbf) alone.
    """

    def __init__(self, look: Callable[[], Mapping[str, Place]]) -> None:
        self._look = look
        self.can_delay = False

    def try_netem(self) -> None:
        """Find out whether this kernel can delay, on any node."""
        place = next(place for node, place in self._look().items() if node != CLIENTS)
        try:
            _in(place, "tc", "qdisc", "add", "dev", "eth0", "root", "netem", "delay", "1ms")
        except NetworkError:
            self.can_delay = False
        else:
            _in(place, "tc", "qdisc", "del", "dev", "eth0", "root")
            self.can_delay = True

    def cut(self, ways: Iterable[tuple[str, str]]) -> None:
        """Have nothing that the first of each two sends arrive at the second; the way back stays.

        Raises:
            NetworkError: That is not possible here, or a node has no namespace now.
        """
        places = self._look()
        for sender, receiver in ways:
            node = sender if receiver == CLIENTS else receiver
            lacking = {sender, receiver} - places.keys()
            if lacking:
                raise NetworkError(f"{', '.join(sorted(lacking))} has no network namespace now")
            rule = (
                ("OUTPUT", "-d", places[CLIENTS].host)
                if receiver == CLIENTS
                else ("INPUT", "-s", places[sender].host)
            )
            _in(places[node], "iptables", "-w", "-A", *rule, "-j", "DROP")

    def lose(self, node: str, fraction: float) -> None:
        """Have this fraction of the packets that other nodes and clients send to ``node`` not arrive."""
        _in(
            self._place(node),
            *("iptables", "-w", "-A", "INPUT", "-i", "eth0", "-m", "statistic", "--mode", "random"),
            *("--probability", str(fraction), "-j", "DROP"),
        )

    def slow(self, node: str) -> None:
        """Have ``node`` send ``SLOW_RATE_MBIT``, with ``SLOW_DELAY_MS`` where this kernel can delay."""
        rate = f"{SLOW_RATE_MBIT}mbit"
        how = (
            ("netem", "delay", f"{SLOW_DELAY_MS}ms", "rate", rate)
            if self.can_delay
            else ("tbf", "rate", rate, "burst", "16kbit", "latency", f"{SLOW_DELAY_MS}ms")
        )
        _in(self._place(node), "tc", "qdisc", "replace", "dev", "eth0", "root", *how)

    def heal(self) -> int:
        """Undo everything; what was done to a namespace that is no more went with it.

        Returns:
            How many packets the cuts have dropped; what lossy links lost is no cut.
        """
        dropped = 0
        for node, place in self._look().items():
            if node != CLIENTS:
                for chain in ("INPUT", "OUTPUT"):
                    listing = _in(place, "iptables", "-w", "-L", chain, "-v", "-x", "-n")
                    dropped += sum(map(int, _DROPPED.findall(listing)))
                    _in(place, "iptables", "-w", "-F", chain)
                _in(place, "tc", "qdisc", "del", "dev", "eth0", "root", may_fail=True)
        return dropped

    def _place(self, node: str) -> Place:
        found = self._look().get(node)
        if found is None:
            raise NetworkError(f"{node} has no network namespace now")
        return found


def _in(place: Place, *command: str, may_fail: bool = False) -> str:
    return _run(*place.enter, *command, may_fail=may_fail)
