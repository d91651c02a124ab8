"""Links between nodes in network namespaces, which can be cut, slowed and made lossy.

A cut works in one direction: the receiver's namespace drops packets from the sender (or, towards clients, the
sender's namespace drops its own). As with a broken path there is no reset and no refusal; connections stay
open and silent. This needs root, ``iptables`` and ``tc`` on Linux.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from barnabas.chaos.targets.commands import run
from barnabas.local.place import Place

CLIENTS = "clients"
"""The name of the node that is the machine itself, on which the clients run."""

SLOW_DELAY_MS = 100
SLOW_RATE_MBIT = 3
"""The rate of a slow link; Kafka's Trogdor degrades networks to 100 ms and 3 Mbit/s."""

_DROPPED = re.compile(r"^\s*(\d+)\s+\d+\s+DROP\b(?!.*\bstatistic\b)", re.MULTILINE)
"""A pattern of a cut's iptables rule and its number of dropped packets; rules of lossy links do not match."""


class NetworkError(Exception):
    """An error for a network that cannot be set up or changed, with the command and its output."""


_run = partial(run, NetworkError)


class Links:
    """The links of nodes, each of which has one interface ``eth0``.

    Args:
        look: Returns the current places of the nodes that have a namespace, and of ``CLIENTS``.

    Attributes:
        can_delay: Whether this kernel has netem; without it a slow link has a low rate (tbf) but no delay.
    """

    def __init__(self, look: Callable[[], Mapping[str, Place]]) -> None:
        self._look = look
        self.can_delay = False

    def try_netem(self) -> None:
        """Test on one node whether this kernel can delay packets."""
        place = next(place for node, place in self._look().items() if node != CLIENTS)
        try:
            _in(place, "tc", "qdisc", "add", "dev", "eth0", "root", "netem", "delay", "1ms")
        except NetworkError:
            self.can_delay = False
        else:
            _in(place, "tc", "qdisc", "del", "dev", "eth0", "root")
            self.can_delay = True

    def cut(self, ways: Iterable[tuple[str, str]]) -> None:
        """Drop everything that the first node of each pair sends to the second, but nothing on the way back.

        Raises:
            NetworkError: A command failed, or a node has no namespace at the moment.
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
        """Drop this fraction of the packets that other nodes and clients send to ``node``."""
        _in(
            self._place(node),
            *("iptables", "-w", "-A", "INPUT", "-i", "eth0", "-m", "statistic", "--mode", "random"),
            *("--probability", str(fraction), "-j", "DROP"),
        )

    def slow(self, node: str) -> None:
        """Limit ``node`` to sending ``SLOW_RATE_MBIT``, with ``SLOW_DELAY_MS`` if this kernel can delay."""
        rate = f"{SLOW_RATE_MBIT}mbit"
        how = (
            ("netem", "delay", f"{SLOW_DELAY_MS}ms", "rate", rate)
            if self.can_delay
            else ("tbf", "rate", rate, "burst", "16kbit", "latency", f"{SLOW_DELAY_MS}ms")
        )
        _in(self._place(node), "tc", "qdisc", "replace", "dev", "eth0", "root", *how)

    def heal(self) -> int:
        """Undo all faults; those of a namespace that no longer exists ended with it.

        Returns:
            The number of packets that cuts dropped, without those that lossy links lost.
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
