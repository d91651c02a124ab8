from __future__ import annotations

import dataclasses

import pytest

from barnabas.cluster.model.epochs import ControllerEpoch, LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.controller.core import reasons
from barnabas.controller.core.reasons import Reason

KINDS = [
    kind
    for kind in vars(reasons).values()
    if isinstance(kind, type) and issubclass(kind, Reason) and kind is not Reason
]
SAMPLES = {
    "ControllerEpoch": ControllerEpoch(3),
    "LeaderEpoch": LeaderEpoch(4),
    "BrokerId": BrokerId(2),
    "TopicPartition": TopicPartition("t", 0),
    "tuple[TopicPartition, ...]": (TopicPartition("t", 0),),
    "tuple[BrokerId, ...]": (BrokerId(2), BrokerId(3)),
    "tuple[str, ...]": ("t",),
    "ErrorCode": ErrorCode.INVALID_CONFIG,
    "str": "something",
    "int": 5,
    "bool": True,
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_reason_is_a_sentence_of_its_own(kind):
    assert "__str__" in vars(kind)
    reason = kind(**{field.name: SAMPLES[field.type] for field in dataclasses.fields(kind)})
    assert str(reason)
    assert "<" not in str(reason)


def test_nobody_is_called_none():
    changed = reasons.BrokersChanged((BrokerId(4),), (), (), (BrokerId(1), BrokerId(4)))
    assert str(changed) == "new brokers: 4; bounced: none; dead: none; all live brokers: 1, 4"


def test_an_unclean_election_says_so():
    elected = reasons.LeaderElected(
        TopicPartition("t", 0), "S", BrokerId(2), LeaderEpoch(4), (BrokerId(2),), unclean=True
    )
    assert str(elected) == (
        "t-0: broker 2 elected uncleanly, from outside the ISR, by S in leader epoch 4, ISR 2"
    )
