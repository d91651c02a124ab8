"""The door for control requests, as tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.replication.control_gate import (
    ControlGate,
    LeadershipVerdict,
    StaleBrokerEpoch,
    StaleControllerEpoch,
    StopVerdict,
    UnconfirmedControllerEpoch,
    judge_leadership,
    judge_stop,
)
from barnabas.cluster.model.errors import ErrorCode


def test_a_fresh_gate_believes_any_controller():
    gate = ControlGate()
    assert gate.judge(1, 5) is None
    assert gate.controller_epoch == 1


def test_a_request_for_a_previous_incarnation_is_refused_and_changes_nothing():
    gate = ControlGate()
    gate.registered(50)
    assert gate.judge(9, 49) == StaleBrokerEpoch(49, 50)
    assert gate.judge(9, 49).error is ErrorCode.STALE_BROKER_EPOCH
    assert gate.controller_epoch == 0


def test_a_controller_epoch_read_from_zookeeper_counts_before_its_first_request():
    gate = ControlGate()
    assert gate.judge(3, -1) is None
    gate.adopt(4)
    assert gate.judge(3, -1) == StaleControllerEpoch(3, 4)
    gate.adopt(0)
    assert gate.controller_epoch == 4, "what is known is never forgotten"


def test_a_look_remembers_nothing():
    gate = ControlGate()
    gate.registered(50)
    gate.adopt(3)
    assert gate.look_at(4, 50) == UnconfirmedControllerEpoch(4, 3)
    assert gate.look_at(3, 50) is None
    assert gate.look_at(2, 50) == StaleControllerEpoch(2, 3)
    assert gate.look_at(4, 49) == StaleBrokerEpoch(49, 50)
    assert gate.controller_epoch == 3


@pytest.mark.parametrize("broker_epoch", [-1, 50, 51])
def test_own_later_and_unknown_broker_epochs_pass(broker_epoch):
    gate = ControlGate()
    gate.registered(50)
    assert gate.broker_epoch == 50
    assert gate.judge(1, broker_epoch) is None


def test_an_old_controller_is_refused():
    gate = ControlGate()
    gate.judge(3, -1)
    refusal = gate.judge(2, -1)
    assert refusal == StaleControllerEpoch(2, 3)
    assert refusal.error is ErrorCode.STALE_CONTROLLER_EPOCH
    assert gate.judge(3, -1) is None


@given(st.lists(st.integers(1, 6), max_size=10))
def test_admitted_controller_epochs_never_fall(epochs):
    gate = ControlGate()
    admitted = [epoch for epoch in epochs if gate.judge(epoch, -1) is None]
    assert admitted == sorted(admitted)
    assert gate.controller_epoch == max(admitted, default=0)


@pytest.mark.parametrize(
    ("requested", "current", "is_replica", "verdict", "error"),
    [
        (0, -1, True, LeadershipVerdict.APPLY, ErrorCode.NONE),
        (4, 3, True, LeadershipVerdict.APPLY, ErrorCode.NONE),
        (3, 3, True, LeadershipVerdict.SAME_LEADER_EPOCH, ErrorCode.STALE_CONTROLLER_EPOCH),
        (2, 3, True, LeadershipVerdict.STALE_LEADER_EPOCH, ErrorCode.STALE_CONTROLLER_EPOCH),
        (4, 3, False, LeadershipVerdict.NOT_A_REPLICA, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (2, 3, False, LeadershipVerdict.STALE_LEADER_EPOCH, ErrorCode.STALE_CONTROLLER_EPOCH),
    ],
)
def test_leadership(requested, current, is_replica, verdict, error):
    found = judge_leadership(requested, current, is_replica=is_replica)
    assert found is verdict
    assert found.error is error


@pytest.mark.parametrize(
    ("requested", "current", "delete", "verdict", "error"),
    [
        (-2, 3, True, StopVerdict.APPLY, ErrorCode.NONE),
        (-1, 3, True, StopVerdict.APPLY, ErrorCode.NONE),
        (4, 3, False, StopVerdict.APPLY, ErrorCode.NONE),
        (0, -1, False, StopVerdict.APPLY, ErrorCode.NONE),
        (3, 3, False, StopVerdict.SAME_LEADER_EPOCH, ErrorCode.FENCED_LEADER_EPOCH),
        (3, 3, True, StopVerdict.APPLY, ErrorCode.NONE),
        (2, 3, False, StopVerdict.STALE_LEADER_EPOCH, ErrorCode.FENCED_LEADER_EPOCH),
        (2, 3, True, StopVerdict.STALE_LEADER_EPOCH, ErrorCode.FENCED_LEADER_EPOCH),
    ],
)
def test_stop(requested, current, delete, verdict, error):
    found = judge_stop(requested, current, delete=delete)
    assert found is verdict
    assert found.error is error
