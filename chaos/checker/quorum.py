"""The history of a ZooKeeper ensemble, from the transaction logs of its servers. Pure.

A server logs a leader's proposal before it acknowledges it, and a proposal that a majority acknowledged is
committed. So a committed transaction is in the logs of a majority. A transaction in fewer logs was proposed
by a leader that lost its followers, and was not committed.

A former leader's last proposals stay in its log, because a log is not truncated across the begin of an
epoch; the server receives a snapshot instead. The server's log then lacks the transactions during its
absence, which the logs of other servers have.
Source: ZooKeeper Internals, "Zab"; ``LearnerHandler.syncFollower`` of 3.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from barnabas.chaos.checker.txn_log import Txn, TxnLogError


def agreed(logs: Sequence[Iterable[Txn]]) -> tuple[Txn, ...]:
    """Return the committed transactions in order.

    Args:
        logs: The transactions of each server's log; a single log is the history.

    Raises:
        TxnLogError: Two logs have different transactions with one zxid.
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
