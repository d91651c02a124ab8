from __future__ import annotations

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.controller.core.context.failures import Failures

TP = TopicPartition("t", 0)
ONE, TWO = BrokerId(1), BrokerId(2)


def test_a_broker_that_is_gone_has_failed_at_nothing():
    failures = Failures({ONE: {TP}, TWO: {TP}}, {ONE, TWO}, {"t"}, {ONE: {TP}})
    failures.forget_broker(ONE)
    assert failures == Failures({TWO: {TP}}, {TWO}, {"t"}, {})
    assert not failures.is_empty


def test_nothing_is_left_of_what_is_cleared():
    failures = Failures({ONE: {TP}}, {ONE}, {"t"}, {ONE: {TP}}, rounds=3, is_scheduled=True)
    failures.clear()
    assert failures.is_empty
    assert failures == Failures()
