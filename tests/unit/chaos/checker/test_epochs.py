"""A clean history passes, and each fault that is planted is found and named."""

import pytest

from barnabas.chaos.checker.epochs import ActedAsController, StartedToLead, acts_of, check_epochs
from barnabas.chaos.checker.txn_log import Change, Txn, ZnodeChange
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr
from barnabas.cluster.model.statechange import BrokerLines
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.schema.brokers import ControllerRegistration, encode_controller
from barnabas.cluster.zk.schema.topics import encode_state

TP = TopicPartition("t", 0)
A, B = 0xA, 0xB


def txn(zxid, session, *changes):
    return Txn(zxid, zxid, session, changes)


def elected(zxid, session, broker, epoch):
    node = encode_controller(ControllerRegistration(broker, zxid))
    return txn(
        zxid,
        session,
        ZnodeChange(Change.CREATE, paths.CONTROLLER, node),
        ZnodeChange(Change.SET, paths.CONTROLLER_EPOCH, str(epoch).encode()),
    )


def state(zxid, session, leader, leader_epoch, controller_epoch, *, change=Change.SET):
    body = encode_state(LeaderAndIsr(leader, leader_epoch, (1, 2)), controller_epoch)
    return txn(zxid, session, ZnodeChange(change, paths.partition_state(TP), body))


def registered(zxid, session, broker):
    return txn(zxid, session, ZnodeChange(Change.CREATE, paths.broker(broker), b"{}"))


CLEAN = (
    registered(-2, A, 1),
    registered(-1, B, 2),
    registered(0, 0xC, 2),
    txn(1, A, ZnodeChange(Change.CREATE, paths.CONTROLLER_EPOCH, b"0")),
    elected(2, A, 1, 1),
    state(3, A, 1, 0, 1, change=Change.CREATE),
    elected(4, B, 2, 2),
    state(5, B, 2, 1, 2),
    state(6, 0xC, 2, 1, 2),  # the leader writes an ISR, in its broker's session
)
ACTS = (
    ActedAsController(1, 1, 1),
    ActedAsController(2, 2, 2),
    StartedToLead(1, TP, 0),
    StartedToLead(2, TP, 1),
)


def test_a_clean_history_has_no_problems():
    found = check_epochs(CLEAN, ACTS)
    assert found.problems == ()
    assert (found.controllers, found.elections, found.acts) == (2, 2, 4)


def problems(*more, acts=()):
    return check_epochs((*CLEAN, *more), (*ACTS, *acts)).problems


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        (elected(7, A, 1, 2), "controller epoch 2 was followed by 2"),
        (elected(7, A, 1, 4), "controller epoch 2 was followed by 4"),
        (
            txn(7, A, ZnodeChange(Change.SET, paths.CONTROLLER_EPOCH, b"3")),
            "controller epoch 3 was begun without an election",
        ),
        (
            txn(7, A, ZnodeChange(Change.CREATE, paths.CONTROLLER, elected(7, A, 1, 3).changes[0].data)),
            "broker 1 was elected controller in epoch 2, which had begun",
        ),
        (state(7, A, 1, 2, 1), "t-0 fell from controller epoch 2 to 1"),
        (state(7, A, 1, 2, 2), "t-0 got leader epoch 2 in session 0xa with controller epoch 2"),
        (state(7, B, 2, 0, 2), "t-0 fell from leader epoch 1 to 0"),
        (state(7, B, 1, 1, 2), "t-0 changed its leader from 2 to 1 within leader epoch 1"),
        (state(7, B, 1, 2, 3), "t-0 has controller epoch 3, the last is 2"),
        (
            txn(
                7,
                A,
                ZnodeChange(Change.DELETE, paths.CONTROLLER_EPOCH),
                ZnodeChange(Change.CREATE, paths.CONTROLLER_EPOCH, b"1"),
                elected(7, A, 1, 1).changes[0],
            ),
            "controller epoch 2 was followed by 1",
        ),
        (
            txn(7, A, ZnodeChange(Change.CREATE, paths.CONTROLLER_EPOCH, b"0")),
            "controller epoch 2 was followed by 0",
        ),
        (txn(7, A, ZnodeChange(Change.SET, paths.CONTROLLER_EPOCH, b"two")), "zxid 0x7: /controller_epoch"),
        (
            txn(7, A, ZnodeChange(Change.DELETE, paths.partition_state(TP))),
            "the state of t-0 was deleted in session 0xa of broker 1; epoch 2 was won in session 0xb",
        ),
        (
            state(7, A, 2, 1, 2),
            "t-0, led by 2 in leader epoch 1, was written in session 0xa of broker 1; epoch 2 was won",
        ),
        (state(7, 0xD, 2, 1, 2), "was written in session 0xd of nobody registered"),
        (txn(7, B, ZnodeChange(Change.SET, paths.partition_state(TP), b"")), "zxid 0x7: /brokers/topics/t"),
    ],
)
def test_a_planted_transaction_is_found(planted, said):
    assert any(said in problem for problem in problems(planted)), problems(planted)


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        (ActedAsController(1, 1, 2), "in broker 1's log controller 1 acts in epoch 2, which broker 2 won"),
        (ActedAsController(1, 1, 9), "which no broker won"),
        (ActedAsController(1, 2, 2), "in broker 1's log controller 2 acts in epoch 2"),
        (
            StartedToLead(1, TP, 1),
            "broker 1 started to lead t-0 in leader epoch 1, whose leader in ZooKeeper is 2",
        ),
        (StartedToLead(1, TP, 8), "in leader epoch 8, which ZooKeeper never had"),
    ],
)
def test_a_planted_act_is_found(planted, said):
    assert [said in problem for problem in problems(acts=[planted])] == [True]


def test_a_start_for_a_partition_that_is_no_more_must_have_its_epoch_too():
    gone = txn(7, B, ZnodeChange(Change.DELETE, paths.partition_state(TP)))
    (said,) = problems(gone, acts=[StartedToLead(2, TP, 8)])
    assert "in leader epoch 8, which ZooKeeper never had" in said


@pytest.mark.parametrize(
    ("txns", "acts", "said"),
    [
        ((), (), ["has no election", "no broker that acted as controller", "no broker that started to lead"]),
        (CLEAN, (), ["no broker that acted as controller", "no broker that started to lead"]),
        (CLEAN, ACTS[:2], ["no broker that started to lead"]),
        (CLEAN, ACTS[2:], ["no broker that acted as controller"]),
    ],
)
def test_where_nobody_tells_anything_nothing_is_proven(txns, acts, said):
    found = check_epochs(txns, acts).problems
    assert len(found) == len(said)
    assert all(word in problem for word, problem in zip(said, found, strict=True)), found


def test_a_deleted_partition_may_begin_again():
    gone = txn(7, B, ZnodeChange(Change.DELETE, paths.partition_state(TP)))
    assert problems(gone) == ()
    assert problems(gone, state(8, B, 1, 0, 2, change=Change.CREATE)) == ()


def test_acts_are_read_from_a_log():
    said = BrokerLines(1).leader_starts(
        TP, 4, 17, high_watermark=17, isr=(1, 2), assignment=Assignment((1, 2)), previous_leader_epoch=3
    )
    lines = [
        said.entry("2026-11-21 20:00:00,000") + "\n",
        "[2026-11-21 20:00:00,001] TRACE [Controller id=1 epoch=7] Sending (state.change.logger)\n",
        "[2026-11-21 20:00:00,001] TRACE [Controller id=1 epoch=7] Sending more (state.change.logger)\n",
        "garbage that starts at leader epoch 9\n",
    ]
    assert acts_of(1, lines) == {StartedToLead(1, TP, 4), ActedAsController(1, 1, 7)}


def test_a_topic_that_came_again_has_other_leaders_in_the_same_epochs():
    again = (
        txn(7, B, ZnodeChange(Change.DELETE, paths.partition_state(TP))),
        state(8, B, 2, 0, 2, change=Change.CREATE),
    )
    assert problems(*again, acts=[StartedToLead(2, TP, 0)]) == ()
    (said,) = problems(*again, acts=[StartedToLead(3, TP, 0)])
    assert "broker 3 started to lead t-0 in leader epoch 0, whose leader in ZooKeeper is 1, 2" in said


def test_what_stands_behind_half_a_line_is_read_too():
    torn = "[2026-11-21 20:00:00,000] TRACE [Controller id=1 epoch=7] Sending [2026-11-21 20:00:09,000] "
    said = BrokerLines(1).leader_starts(
        TP, 4, 17, high_watermark=17, isr=(1, 2), assignment=Assignment((1, 2)), previous_leader_epoch=3
    )
    start = said.entry("2026-11-21 20:00:09,000") + "\n"
    more = "TRACE [Controller id=1 epoch=8] Sending more (state.change.logger)\n"
    assert acts_of(1, [torn + more]) == {ActedAsController(1, 1, 7), ActedAsController(1, 1, 8)}
    assert acts_of(1, [torn[:60] + start]) == {ActedAsController(1, 1, 7), StartedToLead(1, TP, 4)}
    assert acts_of(1, [start[:-40] + start]) == {StartedToLead(1, TP, 4)}
    assert acts_of(1, [start[:60], "[2026-11-21 20:00:00,000] TRACE [Controller id=1 epo"]) == set()
