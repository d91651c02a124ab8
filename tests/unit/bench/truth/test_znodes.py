from __future__ import annotations

from datetime import datetime

from barnabas.bench.truth.znodes import moment, znodes
from barnabas.chaos.checker.txn_log import Change, Txn, ZnodeChange
from barnabas.cluster.model.epochs import ControllerEpoch, LeaderEpoch
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.schema.brokers import (
    ControllerRegistration,
    encode_controller,
    encode_controller_epoch,
)
from barnabas.cluster.zk.schema.topics import encode_state

TP = TopicPartition("a", 0)


def state(leader: int, epoch: int, *isr: int) -> bytes:
    found = LeaderAndIsr(BrokerId(leader), LeaderEpoch(epoch), tuple(map(BrokerId, isr)))
    return encode_state(found, ControllerEpoch(1))


def test_registrations_controllers_and_states_have_their_times() -> None:
    created, deleted = Change.CREATE, Change.DELETE
    elected = (
        ZnodeChange(created, paths.CONTROLLER, encode_controller(ControllerRegistration(BrokerId(1), 0))),
        ZnodeChange(Change.SET, paths.CONTROLLER_EPOCH, encode_controller_epoch(ControllerEpoch(7))),
    )
    found = znodes(
        [
            Txn(
                1,
                1_000,
                11,
                tuple(ZnodeChange(how, paths.broker(BrokerId(1)), b"{}") for how in (created, Change.SET)),
            ),
            Txn(2, 1_100, 11, elected),
            Txn(3, 1_200, 11, (ZnodeChange(created, paths.partition_state(TP), state(1, 0, 1, 2)),)),
            Txn(4, 1_300, 12, (ZnodeChange(created, paths.broker(BrokerId(2)), b"{}"),)),
            Txn(5, 1_400, 12, (ZnodeChange(deleted, paths.broker(BrokerId(2))),)),
            Txn(6, 1_500, 11, (), closes_session=True),
            Txn(7, 1_600, 13, (ZnodeChange(Change.SET, paths.partition_state(TP), state(-1, 1, 2)),)),
        ]
    )
    assert [(each.broker, each.since, each.until) for each in found.registrations] == [
        (1, moment(1_000), moment(1_500)),
        (2, moment(1_300), moment(1_400)),
    ]
    assert [tuple(each) for each in found.controllers] == [(1, 7, moment(1_100))]
    assert (found.controller_at(moment(1_099)), found.controller_at(moment(1_100))) == (None, 1)
    assert [tuple(each) for each in found.states["a-0"]] == [
        (moment(1_200), 1, 0, (1, 2)),
        (moment(1_600), -1, 1, (2,)),
    ]


def test_times_are_those_of_a_machine_in_utc() -> None:
    assert moment(1_700_000_000_123) == datetime(2023, 11, 14, 22, 13, 20, 123_000)  # noqa: DTZ001
