from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.brokers import Broker
from barnabas.cluster.model.epochs import EPOCH_DURING_DELETE, BrokerEpoch, ControllerEpoch, LeaderEpoch, Zxid
from barnabas.cluster.model.ids import BrokerId, TopicIdentity, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import (
    ControlRequest,
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    StopReplicaPartition,
    StopReplicaRequest,
    UpdateMetadataPartition,
    UpdateMetadataRequest,
)
from barnabas.controller.core.batches.request_queue import (
    Queue,
    merge_leader_and_isr,
    merge_stop_replica,
    merge_update_metadata,
)

HEAD = BrokerId(1), ControllerEpoch(1), BrokerEpoch(7)
REPLICAS = (BrokerId(1), BrokerId(2))


def broker(number: int) -> Broker:
    return Broker(BrokerId(number), BrokerEpoch(7), ())


def state(epoch: int) -> PartitionState:
    return PartitionState(LeaderAndIsr(BrokerId(1), LeaderEpoch(epoch), REPLICAS), ControllerEpoch(1))


def lisr(
    epochs: dict[int, int], *, new: bool = False, leaders: tuple[int, ...] = (1,)
) -> LeaderAndIsrRequest:
    partitions = tuple(
        LeaderAndIsrPartition(TopicPartition("t", n), state(e), Assignment(REPLICAS), new)
        for n, e in epochs.items()
    )
    return LeaderAndIsrRequest(*HEAD, partitions, tuple(broker(n) for n in leaders))


def umr(epochs: dict[int, int], live: tuple[int, ...] = (1, 2)) -> UpdateMetadataRequest:
    partitions = tuple(
        UpdateMetadataPartition(TopicPartition("t", n), state(e), REPLICAS) for n, e in epochs.items()
    )
    return UpdateMetadataRequest(*HEAD, partitions, tuple(broker(n) for n in live))


def stop(epochs: dict[int, int], *, delete: bool = False) -> StopReplicaRequest:
    return StopReplicaRequest(
        *HEAD,
        tuple(
            StopReplicaPartition(TopicPartition("t", n), LeaderEpoch(e), delete) for n, e in epochs.items()
        ),
    )


def drain(queue: Queue) -> list[ControlRequest]:
    taken = []
    while (request := queue.take()) is not None:
        taken.append(request)
    return taken


def filled(*requests: ControlRequest) -> Queue:
    queue = Queue()
    for request in requests:
        queue.put(request)
    return queue


def test_requests_of_different_kinds_keep_their_order() -> None:
    requests = [umr({}), lisr({0: 1}), umr({0: 1}), stop({1: 3})]
    assert drain(filled(*requests)) == requests


def test_an_empty_queue_has_nothing_to_take() -> None:
    assert Queue().take() is None
    assert len(Queue()) == 0


def test_the_highest_leader_epoch_wins_and_is_new_stays() -> None:
    (merged,) = drain(filled(lisr({0: 1, 1: 5}, new=True), lisr({0: 2, 1: 4}, leaders=(2,))))
    assert isinstance(merged, LeaderAndIsrRequest)
    assert [(p.state.leader_and_isr.leader_epoch, p.is_new) for p in merged.partitions] == [
        (2, True),
        (5, True),
    ]
    assert [leader.id for leader in merged.live_leaders] == [1, 2]


def test_leader_and_isr_never_overtakes_the_leaders_address() -> None:
    first, _, second = umr({}, live=(1,)), lisr({0: 1}), umr({}, live=(1, 2))
    taken = drain(filled(first, lisr({0: 1}), second, lisr({1: 1}, leaders=(2,))))
    assert [type(request) for request in taken] == [UpdateMetadataRequest, LeaderAndIsrRequest]
    assert taken[0] == second
    assert isinstance(taken[1], LeaderAndIsrRequest)
    assert [p.topic_partition.partition for p in taken[1].partitions] == [0, 1]


def test_the_later_metadata_stays_with_the_later_brokers() -> None:
    merged = merge_update_metadata(umr({0: 5}, live=(1,)), umr({0: 0, 1: 2}, live=(2,)))
    assert [p.state.leader_and_isr.leader_epoch for p in merged.partitions] == [0, 2]
    assert [b.id for b in merged.live_brokers] == [2]


def test_what_is_complete_stays_so() -> None:
    complete, more = replace(umr({0: 5}), is_complete=True), umr({1: 0})
    assert merge_update_metadata(complete, more).is_complete
    assert merge_update_metadata(more, complete).is_complete
    assert not merge_update_metadata(more, more).is_complete


def test_a_deletion_stays_a_deletion() -> None:
    merged = merge_stop_replica(stop({0: 1}, delete=True), stop({0: 2, 1: 2}))
    assert [(p.leader_epoch, p.delete) for p in merged.partitions] == [(2, True), (2, False)]


def test_a_stop_is_void_once_a_higher_epoch_follows() -> None:
    queue = filled(stop({0: 1, 1: 1}), lisr({0: 2}))
    (left, follows) = drain(queue)
    assert isinstance(left, StopReplicaRequest)
    assert [p.topic_partition.partition for p in left.partitions] == [1]
    assert follows == lisr({0: 2})
    assert drain(filled(stop({0: 1}), lisr({0: 2}))) == [lisr({0: 2})]


def test_a_deletion_of_a_topic_is_never_void() -> None:
    deletion = stop({0: EPOCH_DURING_DELETE}, delete=True)
    assert drain(filled(deletion, lisr({0: 0}))) == [deletion, lisr({0: 0})]


def test_a_stop_that_comes_later_stays_behind() -> None:
    assert drain(filled(lisr({0: 1}), stop({0: 1}))) == [lisr({0: 1}), stop({0: 1})]


numbers = st.dictionaries(st.integers(0, 3), st.integers(0, 5), min_size=1)
any_request = st.one_of(
    numbers.map(lisr),
    numbers.map(umr),
    st.just(umr({})),
    numbers.map(stop),
    st.builds(umr, st.just({}), st.just((3,))),
)


@given(st.lists(any_request, max_size=12))
def test_it_stays_short_and_loses_no_last_word(requests: list[ControlRequest]) -> None:
    queue = filled(*requests)
    assert len(queue) <= 4
    taken = drain(queue)
    sent = {p.topic_partition: p for r in taken if isinstance(r, LeaderAndIsrRequest) for p in r.partitions}
    best: dict[TopicPartition, int] = {}
    for request in requests:
        for p in request.partitions if isinstance(request, LeaderAndIsrRequest) else ():
            best[p.topic_partition] = max(
                best.get(p.topic_partition, -1), p.state.leader_and_isr.leader_epoch
            )
    assert {tp: p.state.leader_and_isr.leader_epoch for tp, p in sent.items()} == best
    metadata = [request for request in requests if isinstance(request, UpdateMetadataRequest)]
    if metadata:
        last = [request for request in taken if isinstance(request, UpdateMetadataRequest)][-1]
        assert last.live_brokers == metadata[-1].live_brokers


def test_merging_leader_and_isr_takes_the_later_of_equal_epochs() -> None:
    """KAFKA-12367, KAFKA-13132: what changes without a new leader epoch is sent all the same."""
    shrunk = LeaderAndIsr(BrokerId(1), LeaderEpoch(1), (BrokerId(1),))
    later = LeaderAndIsrRequest(
        *HEAD,
        (
            LeaderAndIsrPartition(
                TopicPartition("t", 0), PartitionState(shrunk, ControllerEpoch(1)), Assignment(REPLICAS)
            ),
        ),
    )
    assert merge_leader_and_isr(lisr({0: 1}), later).partitions == later.partitions


def test_leader_epochs_of_two_topics_are_not_compared() -> None:
    """A topic's leader epochs begin at 0 again after its znode was deleted and created by hand."""
    former, later = (
        replace(lisr({0: epoch}).partitions[0], topic_identity=TopicIdentity(1700, Zxid(czxid)))
        for epoch, czxid in ((5, 8), (1, 9))
    )
    request = lisr({})
    merged = merge_leader_and_isr(
        replace(request, partitions=(former,)), replace(request, partitions=(later,))
    )
    assert merged.partitions == (later,)


def test_nothing_wakes_what_is_deleted() -> None:
    """A LeaderAndIsr of another partition drags those that wait behind the deletion."""
    deletion = stop({0: EPOCH_DURING_DELETE}, delete=True)
    queue = filled(lisr({0: 5, 1: 5}), deletion, lisr({2: 1}))
    assert drain(queue) == [deletion, lisr({1: 5, 2: 1})]
    assert drain(filled(lisr({0: 5}), deletion)) == [deletion]


def test_a_topic_made_again_follows_the_deletion_of_the_old_one() -> None:
    deletion = stop({0: EPOCH_DURING_DELETE}, delete=True)
    assert drain(filled(deletion, lisr({0: 0}, new=True))) == [deletion, lisr({0: 0}, new=True)]


def test_a_full_list_stays_one_whatever_is_merged_into_it():
    for first, second in ((True, False), (False, True)):
        queue = Queue()
        queue.put(replace(lisr({0: 1}), is_full=first))
        queue.put(replace(lisr({1: 1}), is_full=second))
        merged = queue.take()
        assert (merged.is_full, len(merged.partitions)) == (True, 2)


def test_a_full_list_is_sent_though_all_it_names_is_deleted():
    queue = Queue()
    queue.put(replace(lisr({0: 1}), is_full=True))
    queue.put(stop({0: 1}, delete=True))
    left = queue.take()
    assert (left.is_full, left.partitions) == (True, ())
