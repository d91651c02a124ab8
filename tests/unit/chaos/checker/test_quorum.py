"""Ensembles are played through, transaction by transaction, by a model that knows what took place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.chaos.checker.quorum import agreed
from barnabas.chaos.checker.txn_log import Change, Txn, TxnLogError, ZnodeChange


def txn(zxid, data=b""):
    return Txn(zxid, zxid, 1, (ZnodeChange(Change.SET, "/a", data),))


@st.composite
def histories(draw):
    """The logs of the servers of an ensemble, and what took place.

    In each epoch a leader proposes; every proposal reaches some of the servers, in order, and takes place
    where those are most. Who was away catches up with the next leader, who has all that took place.
    """
    servers = draw(st.sampled_from([1, 3, 5]))
    logs = [[] for _ in range(servers)]
    done = []
    for epoch in range(1, draw(st.integers(1, 4)) + 1):
        running = draw(
            st.lists(
                st.sampled_from(range(servers)), min_size=servers // 2 + 1, max_size=servers, unique=True
            )
        )
        for server in running:
            if not logs[server]:
                logs[server] = list(done)
            elif logs[server][-1] in done:
                logs[server] += done[done.index(logs[server][-1]) + 1 :]
            # Else it is sent a snapshot: its log has a gap.
        for counter in range(1, draw(st.integers(0, 4)) + 1):
            proposed = txn(epoch << 32 | counter)
            for server in running:
                logs[server].append(proposed)
            done.append(proposed)
        if servers > 1 and draw(st.booleans()):
            # The leader dies of its last proposal: nobody else has heard of it.
            logs[running[0]].append(txn(epoch << 32 | 99))
    return logs, done


@given(histories())
def test_committed_transactions_are_distinguished_from_others(history):
    logs, done = history
    assert agreed(logs) == tuple(done)


def test_one_server_s_log_is_the_history():
    assert agreed([[txn(1), txn(2)]]) == (txn(1), txn(2))
    assert agreed([]) == ()


def test_a_transaction_that_a_server_wrote_twice_counts_once():
    assert agreed([[txn(1), txn(1)], [], []]) == ()


def test_servers_that_disagree_are_reported():
    with pytest.raises(TxnLogError, match=r"zxid 0x7 is .*b'x'.* in one log and .*b'y'.* in another"):
        agreed([[txn(7, b"x")], [txn(7, b"y")], []])


def test_a_server_that_disagrees_with_itself_is_reported():
    with pytest.raises(TxnLogError, match="zxid 0x7"):
        agreed([[txn(7, b"x"), txn(7, b"y")]])
