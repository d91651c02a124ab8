"""The one history of an ensemble of ZooKeepers, from the transaction logs of its servers. Pure.

A server writes down what a leader proposes before it agrees to it, and what most servers agreed to is done:
so each transaction that took place lies in most of the logs. One that lies in fewer was proposed by a leader
that lost its followers just then, and came to nothing.

A deposed leader's last proposals stay in its own log, which cannot be cut across the beginning of an epoch.
It is sent a snapshot instead, and what was done while it was away is missing in its log, though not in those
of the servers that did it. Source: ZooKeeper Internals, "Zab"; ``LearnerHandler.syncFollower`` of 3.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from barnabas.chaos.txn_log import Txn, TxnLogError


def agreed(logs: Sequence[Iterable[Txn]]) -> tuple[Txn, ...]:
    """What took place, in order.

    Args:
        logs: The transactions of each server's log; one log alone is the history.

    Raises:
        TxnLogError: There are different transactions under one zxid.
    """
    found: dict[int, Txn] = {}
    held: dict[int, int] = {}
    for log in logs:
        mine = set()
        for txn in log:
            if found.setdefault(txn.zxid, txn) != txn:
                raise TxnLogError(f"zxid {txn.zxid:#x} is {found[txn.zxid]} in one log and {txn} in another")
            mine.add(txn.zxid)
        for zxid in mine:
            held[zxid] = held.get(zxid, 0) + 1
    return tuple(found[zxid] for zxid in sorted(found) if 2 * held[zxid] > len(logs))
