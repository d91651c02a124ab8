"""The parts of a full list, and what does not belong to it."""

from __future__ import annotations

from barnabas.broker.core.full_list import FullList
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import LeaderAndIsrPartition, LeaderAndIsrRequest

STATE = PartitionState(LeaderAndIsr(1, 0, (1,)), 1)
OWN = 50


def request(*numbers, follow=0, controller_epoch=1, broker_epoch=OWN, is_full=True):
    partitions = tuple(
        LeaderAndIsrPartition(TopicPartition("t", number), STATE, Assignment((1,))) for number in numbers
    )
    head = (9, controller_epoch, broker_epoch)
    return LeaderAndIsrRequest(*head, partitions, is_full=is_full, parts_to_follow=follow)


def numbers(found):
    return None if found is None else sorted(tp.partition for tp in found)


def test_a_list_is_whole_with_its_last_part():
    full = FullList()
    assert full.add(request(1, 2, follow=2), OWN) is None
    assert full.add(request(7, is_full=False), OWN) is None
    assert full.add(request(3, follow=1), OWN) is None
    assert numbers(full.add(request(4), OWN)) == [1, 2, 3, 4, 7]
    assert numbers(full.add(request(5), OWN)) == [5]
    assert numbers(full.add(request(), OWN)) == []


def test_parts_of_other_lists_are_not_counted_in():
    full = FullList()
    full.add(request(1, follow=1), OWN)
    assert full.add(request(2, follow=1, controller_epoch=2), OWN) is None
    assert numbers(full.add(request(3, controller_epoch=2), OWN)) == [2, 3]
    full.add(request(1, follow=1), OWN)
    assert numbers(full.add(request(3, broker_epoch=OWN + 1), OWN + 1)) == [3]


def test_what_is_no_full_list_is_none():
    assert FullList().add(request(1, is_full=False), OWN) is None


def test_a_list_for_another_registration_is_none():
    for of_request, own in ((OWN, OWN + 1), (-1, OWN), (OWN, -1), (-1, -1)):
        assert FullList().add(request(1, broker_epoch=of_request), own) is None
