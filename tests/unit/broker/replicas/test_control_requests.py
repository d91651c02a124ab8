"""What the controller's three requests do, answer and log."""

from __future__ import annotations

import errno
from unittest.mock import Mock

import pytest

from barnabas.broker.core.replication.control_gate import ControlGate
from barnabas.broker.disk.directory import log_dir
from barnabas.broker.disk.errors import KafkaStorageError, NoDescriptorError
from barnabas.broker.replicas.control_requests import ControlRequests
from barnabas.broker.replicas.followed_partitions import FollowedPartitions
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import NO_LEADER, TopicIdentity, TopicPartition
from barnabas.cluster.model.requests import (
    LeaderAndIsrRequest,
    UpdateMetadataPartition,
)
from barnabas.cluster.model.statechange import Kind, Level

TP, OTHER, THIRD = TopicPartition("t", 0), TopicPartition("u", 0), TopicPartition("v", 0)


async def test_lead_and_follow(room, scene):
    answer = await scene.order(room.order(1, 3), room.order(2, 4, topic_partition=OTHER))
    assert (answer.error, answer.partition_errors) == (
        ErrorCode.NONE,
        {TP: ErrorCode.NONE, OTHER: ErrorCode.NONE},
    )
    led, followed = room.hosted.get(TP), room.hosted.get(OTHER)
    assert (led.replica.is_leader, led.replica.leader_epoch, led.log.latest_epoch) == (True, 3, 3)
    assert (followed.replica.is_leader, followed.replica.leader_epoch) == (False, 4)
    assert scene.fetchers.followed == {OTHER: (2, 4, 9002)}
    assert scene.kinds == [
        Kind.LEADER_AND_ISR_HANDLING,
        Kind.LEADER_AND_ISR_RECEIVED,
        Kind.LEADER_AND_ISR_RECEIVED,
        Kind.TRANSITION_STARTED,
        Kind.LEADER_FETCHERS_STOPPED,
        Kind.LEADER_STARTS,
        Kind.TRANSITION_COMPLETED,
        Kind.TRANSITION_STARTED,
        Kind.FOLLOWER_FETCHERS_STOPPED,
        Kind.FOLLOWER_STARTS,
        Kind.TRANSITION_COMPLETED,
        Kind.LEADER_AND_ISR_FINISHED,
    ]
    starts = next(line for line in scene.lines if line.kind is Kind.LEADER_STARTS)
    assert starts.level is Level.INFO
    assert starts.message.endswith(
        "Leader t-0 starts at leader epoch 3 from offset 0 with high watermark 0 ISR [1,2,3] "
        "addingReplicas [] removingReplicas []. Previous leader epoch was -1."
    )


async def test_from_follower_to_leader_and_on(room, scene):
    await scene.order(room.order(2, 0))
    await scene.order(room.order(1, 1))
    assert scene.fetchers.followed == {}
    assert Kind.BECOME_LEADER_SKIPPED not in scene.kinds
    await scene.order(room.order(1, 2))
    assert Kind.BECOME_LEADER_SKIPPED in scene.kinds
    assert room.hosted.get(TP).log.latest_epoch == 2


async def test_following_the_same_leader_in_a_new_epoch_fetches_in_it(room, scene):
    await scene.order(room.order(2, 0))
    await scene.order(room.order(2, 1))
    assert scene.fetchers.followed == {TP: (2, 1, 9002)}
    assert Kind.BECOME_FOLLOWER_SKIPPED in scene.kinds


@pytest.mark.parametrize(
    ("epoch", "kind"), [(3, Kind.LEADER_AND_ISR_STALE_EPOCH), (4, Kind.LEADER_AND_ISR_SAME_EPOCH)]
)
async def test_old_leader_epochs_are_ignored(room, scene, epoch, kind):
    await scene.order(room.order(1, 4))
    answer = await scene.order(room.order(2, epoch))
    assert answer.error is ErrorCode.NONE
    assert answer.partition_errors == {TP: ErrorCode.STALE_CONTROLLER_EPOCH}
    assert room.hosted.get(TP).replica.is_leader
    assert kind in scene.kinds


async def test_an_old_controller_and_a_previous_incarnation_change_nothing(room, scene):
    await scene.update(controller_epoch=5)
    written = len(scene.lines)
    assert (await scene.order(room.order(1, 9), broker_epoch=49)).error is ErrorCode.STALE_BROKER_EPOCH
    assert (await scene.update(broker_epoch=49)).error is ErrorCode.STALE_BROKER_EPOCH
    assert (await scene.stop((TP, -2, True), broker_epoch=49)).error is ErrorCode.STALE_BROKER_EPOCH
    assert len(scene.lines) == written
    for answer, kind in (
        (await scene.order(room.order(1, 9), controller_epoch=4), Kind.LEADER_AND_ISR_STALE_CONTROLLER),
        (await scene.update(controller_epoch=4), Kind.UPDATE_METADATA_STALE_CONTROLLER),
        (await scene.stop((TP, -2, True), controller_epoch=4), Kind.STOP_REPLICA_STALE_CONTROLLER),
    ):
        assert answer.error is ErrorCode.STALE_CONTROLLER_EPOCH
        assert kind in scene.kinds
    assert room.hosted.get(TP) is None
    assert Kind.LEADER_AND_ISR_FINISHED in scene.kinds


async def test_a_request_speaks_only_of_the_roles_it_gives(room, scene):
    await scene.order(room.order(2, 4))
    assert Kind.LEADER_FETCHERS_STOPPED not in scene.kinds
    scene.lines.clear()
    await scene.order(room.order(1, 5))
    assert Kind.FOLLOWER_FETCHERS_STOPPED not in scene.kinds


@pytest.mark.parametrize("leader", [1, 2])
async def test_an_unexpected_error_is_that_of_its_partition_alone(room, scene, monkeypatch, leader):
    """The others lead or follow; and the same word, said again, finds nothing that it would repeat."""
    replica = type(room.lead().replica)
    room.hosted.remove(TP, delete=False)
    role = "become_leader" if leader == 1 else "become_follower"
    become = getattr(replica, role)

    def fail(self, partition, *arguments):
        result = become(self, partition, *arguments)
        if partition.topic_partition == TP:
            raise ZeroDivisionError("a bug")
        return result

    monkeypatch.setattr(replica, role, fail)
    orders = room.order(leader, 3), room.order(leader, 3, topic_partition=OTHER)
    answer = await scene.order(*orders)
    assert answer.partition_errors == {TP: ErrorCode.UNKNOWN_SERVER_ERROR, OTHER: ErrorCode.NONE}
    assert room.hosted.get(TP) is None
    assert room.hosted.get(OTHER).replica.is_leader is (leader == 1)
    (failed,) = [line for line in scene.lines if line.kind is Kind.LEADER_AND_ISR_FAILED]
    assert failed.values["tp"] == TP
    assert (failed.level, failed.cause) == (Level.ERROR, "ZeroDivisionError: a bug")
    monkeypatch.undo()
    assert (await scene.order(orders[0])).partition_errors == {TP: ErrorCode.NONE}
    assert room.hosted.get(TP).replica.is_leader is (leader == 1)


async def test_a_deletion_that_failed_unexpectedly_is_done_when_it_is_sent_again(room, scene, monkeypatch):
    await scene.order(room.order(2, 3), room.order(2, 3, topic_partition=OTHER))
    delete = room.logs.delete

    def fail(topic_partition):
        if topic_partition == TP:
            raise ZeroDivisionError("a bug")
        delete(topic_partition)

    monkeypatch.setattr(room.logs, "delete", fail)
    answer = await scene.stop((TP, -2, True), (OTHER, -2, True))
    assert answer.partition_errors == {TP: ErrorCode.UNKNOWN_SERVER_ERROR, OTHER: ErrorCode.NONE}
    assert Kind.STOP_REPLICA_EXCEPTION in scene.kinds
    monkeypatch.undo()
    assert (await scene.stop((TP, -2, True))).partition_errors == {TP: ErrorCode.NONE}
    assert room.logs.get(TP) is None


@pytest.mark.parametrize("leader", [1, 2])
async def test_a_partition_that_lacked_descriptors_is_led_when_it_is_sent_again(
    room, scene, tmp_path, monkeypatch, leader
):
    """KAFKA_STORAGE_ERROR would be for good: the controller takes the log directory for failed."""
    create = room.logs.get_or_create

    def refuse(topic_partition, **how):
        if topic_partition == TP:
            raise NoDescriptorError(tmp_path, "creating", OSError(errno.EMFILE, "too many"))
        return create(topic_partition, **how)

    monkeypatch.setattr(room.logs, "get_or_create", refuse)
    orders = (
        room.order(leader, 3, is_new=True),
        room.order(leader, 3, topic_partition=OTHER, is_new=True),
    )
    answer = await scene.order(*orders)
    assert answer.partition_errors == {TP: ErrorCode.UNKNOWN_SERVER_ERROR, OTHER: ErrorCode.NONE}
    assert TP not in room.hosted.offline
    monkeypatch.undo()
    assert (await scene.order(orders[0])).partition_errors == {TP: ErrorCode.NONE}
    assert room.hosted.get(TP).replica.is_leader is (leader == 1)


async def test_a_partition_that_lacked_descriptors_is_deleted_when_it_is_sent_again(
    room, scene, tmp_path, monkeypatch
):
    await scene.order(room.order(2, 3))
    monkeypatch.setattr(
        room.logs,
        "delete",
        Mock(side_effect=NoDescriptorError(tmp_path, "deleting", OSError(errno.EMFILE, "too many"))),
    )
    assert (await scene.stop((TP, -2, True))).partition_errors == {TP: ErrorCode.UNKNOWN_SERVER_ERROR}
    monkeypatch.undo()
    assert (await scene.stop((TP, -2, True))).partition_errors == {TP: ErrorCode.NONE}
    assert room.logs.get(TP) is None


async def test_a_partition_that_is_not_ours(room, scene):
    order = room.order(2, 0)
    stranger = type(order)(TP, order.state, type(order.assignment)((2, 3)))
    assert (await scene.order(stranger)).partition_errors == {TP: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert Kind.LEADER_AND_ISR_NOT_ASSIGNED in scene.kinds
    assert room.hosted.get(TP) is None


async def test_a_leader_not_known_to_live_is_followed_once_it_is(room, scene):
    await scene.order(room.order(3, 0), live=())
    assert scene.fetchers.followed == {}
    assert Kind.NEW_LEADER_UNAVAILABLE in scene.kinds
    await scene.update(live=scene.brokers[:2])
    assert scene.fetchers.followed == {}
    await scene.update()
    assert scene.fetchers.followed == {TP: (3, 0, 9003)}


async def test_one_that_waited_and_was_overtaken_is_left_alone(room, scene):
    await scene.order(room.order(3, 0), live=())
    room.lead(epoch=1)
    await scene.update()
    assert scene.fetchers.followed == {}


async def test_nothing_is_fetched_while_shutting_down(room, scene):
    scene.control_requests.close()
    await scene.order(room.order(2, 0))
    assert scene.fetchers.followed == {}
    assert Kind.FETCHER_SKIPPED in scene.kinds


async def test_a_log_that_knows_no_epoch_is_cut_at_the_high_watermark(room, scene, monkeypatch):
    partition = room.lead()
    room.write(partition, b"a")
    room.write(partition, b"b")
    partition.replica.high_watermark = 1
    monkeypatch.setattr(type(partition.log), "latest_epoch", property(lambda _self: None))
    await scene.order(room.order(2, 1))
    assert partition.log.log_end_offset == 1


async def test_a_disk_that_fails_is_answered_for_each_role(room, scene, tmp_path, monkeypatch):
    monkeypatch.setattr(room.logs, "get_or_create", Mock(side_effect=KafkaStorageError(tmp_path, "test")))
    answer = await scene.order(room.order(1, 0), room.order(2, 0, topic_partition=OTHER))
    assert set(answer.partition_errors.values()) == {ErrorCode.KAFKA_STORAGE_ERROR}
    assert {Kind.BECOME_LEADER_OFFLINE, Kind.BECOME_FOLLOWER_OFFLINE} <= set(scene.kinds)


@pytest.mark.parametrize(("leader", "isr"), [(1, (1, 2, 3)), (2, (1, 2, 3)), (-1, (1,))])
async def test_who_is_in_sync_without_a_log_neither_leads_nor_follows(room, scene, leader, isr):
    answer = await scene.order(room.order(leader, 7, isr, is_new=False))
    assert answer.partition_errors == {TP: ErrorCode.KAFKA_STORAGE_ERROR}
    assert (room.hosted.get(TP), room.logs.get(TP)) == (None, None)
    assert {Kind.BECOME_LEADER_OFFLINE, Kind.BECOME_FOLLOWER_OFFLINE} & set(scene.kinds)
    # Out of the ISR it may begin with nothing.
    answer = await scene.order(room.order(2, 8, (2,), is_new=False))
    assert answer.partition_errors == {TP: ErrorCode.NONE}
    assert scene.fetchers.followed == {TP: (2, 8, 9002)}


async def test_a_new_partition_does_not_get_the_log_of_one_that_is_gone(room, scene):
    room.logs.get_or_create(TP).append_as_leader(room.batch(b"old"), 4)
    await scene.order(room.order(1, 0))
    assert room.hosted.get(TP).log.log_end_offset == 0


async def host_and_leave_unnamed(room, scene, *, named=()):
    """Host a partition with a record, and have the next controller name all partitions but that."""
    await scene.order(room.order(1, 3))
    room.hosted.get(TP).log.append_as_leader(room.batch(b"old"), 3)
    request = LeaderAndIsrRequest(9, 2, 50, named, scene.brokers, is_full=True)
    await scene.control_requests.leader_and_isr(request)


@pytest.mark.parametrize("leader", [1, 2])
@pytest.mark.parametrize("epoch", [0, 3, 4])
async def test_a_topic_that_is_created_again_behind_a_hosted_one_replaces_it(
    room, scene, tmp_path, leader, epoch
):
    await host_and_leave_unnamed(room, scene)
    again = room.order(leader, epoch)
    assert (await scene.order(again, controller_epoch=2)).partition_errors == {TP: ErrorCode.NONE}
    hosted = room.hosted.get(TP)
    assert (hosted.replica.leader_epoch, hosted.log.log_end_offset) == (epoch, 0)
    assert [path.name.split(".")[0] for path in tmp_path.glob("*-stray")] == ["t-0"]
    # The same request again, as after a lost answer, finds the replica of this topic.
    hosted.log.append_as_leader(room.batch(b"new"), epoch)
    assert (await scene.order(again, controller_epoch=2)).partition_errors == {
        TP: ErrorCode.STALE_CONTROLLER_EPOCH
    }
    assert room.hosted.get(TP).log.log_end_offset == 1


async def test_a_hosted_partition_that_the_controller_names_keeps_its_log(room, scene):
    """Its state in ZooKeeper was lost, say, and written again; its topic is there."""
    await host_and_leave_unnamed(room, scene, named=(room.order(1, 0),))
    await scene.order(room.order(1, 0), controller_epoch=2)
    assert room.hosted.get(TP).log.log_end_offset == 1


async def test_a_partition_that_is_not_new_keeps_its_log_though_it_was_not_named(room, scene):
    await host_and_leave_unnamed(room, scene)
    await scene.order(room.order(1, 4, is_new=False), controller_epoch=2)
    await scene.order(room.order(1, 0), controller_epoch=2)
    assert room.hosted.get(TP).log.log_end_offset == 1


async def test_a_partition_that_can_have_no_directory_fails_alone_and_can_be_deleted(room, scene):
    nameless = TopicPartition("x" * 300, 0)
    answer = await scene.order(room.order(1, 0), room.order(1, 0, topic_partition=nameless))
    assert answer.partition_errors == {TP: ErrorCode.NONE, nameless: ErrorCode.KAFKA_STORAGE_ERROR}
    assert room.hosted.get(TP) is not None
    assert (await scene.stop((nameless, -2, True))).partition_errors == {nameless: ErrorCode.NONE}


async def test_an_offline_replica_is_named(room, scene, tmp_path):
    room.lead()
    room.hosted.disk_failed(KafkaStorageError(tmp_path, "test"))
    assert (await scene.order(room.order(1, 1))).partition_errors == {TP: ErrorCode.KAFKA_STORAGE_ERROR}
    assert (await scene.stop((TP, -2, True))).partition_errors == {TP: ErrorCode.KAFKA_STORAGE_ERROR}
    assert {Kind.LEADER_AND_ISR_OFFLINE_DIR, Kind.STOP_REPLICA_OFFLINE_DIR} <= set(scene.kinds)


async def test_metadata_are_applied_and_announced(scene):
    state = scene.room.order(2, 0).state
    cached = UpdateMetadataPartition(TP, state, (1, 2, 3))
    assert (await scene.update(cached)).error is ErrorCode.NONE
    assert scene.room.metadata.partition(TP) is cached
    assert scene.updates == 1
    assert scene.kinds == [Kind.METADATA_CACHED, Kind.METADATA_UPDATED]
    await scene.update()
    assert scene.kinds == [Kind.METADATA_CACHED, Kind.METADATA_UPDATED]


async def test_no_line_says_that_a_new_partition_has_no_leader(scene):
    new, lost = (
        UpdateMetadataPartition(tp, scene.room.order(NO_LEADER, epoch).state, (1,))
        for tp, epoch in ((TP, 0), (OTHER, 1))
    )
    await scene.update(new, lost)
    assert scene.room.metadata.partition(TP) is new
    assert [line.values["tp"] for line in scene.lines if line.kind is Kind.METADATA_CACHED] == [OTHER]


async def test_metadata_are_announced_even_if_a_later_step_fails(scene, monkeypatch):
    """Whatever waits for a change would wait on: the same request again changes nothing."""
    monkeypatch.setattr(FollowedPartitions, "follow_live_leaders", lambda _self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        await scene.update()
    assert scene.updates == 1


async def test_stop_and_delete(room, scene):
    await scene.order(
        room.order(2, 3), room.order(2, 3, topic_partition=OTHER), room.order(2, 3, topic_partition=THIRD)
    )
    answer = await scene.stop((TP, 4, False), (OTHER, -2, True), (THIRD, 2, True))
    assert answer.partition_errors == {
        TP: ErrorCode.NONE,
        OTHER: ErrorCode.NONE,
        THIRD: ErrorCode.FENCED_LEADER_EPOCH,
    }
    assert set(scene.fetchers.followed) == {THIRD}
    assert (room.hosted.get(TP) is None, room.hosted.get(OTHER) is None) == (False, True)
    assert room.logs.get(OTHER) is None
    assert (await scene.stop((THIRD, 3, False))).partition_errors == {THIRD: ErrorCode.FENCED_LEADER_EPOCH}
    assert {Kind.STOP_REPLICA_STALE_EPOCH, Kind.STOP_REPLICA_SAME_EPOCH} <= set(scene.kinds)
    assert (await scene.stop((TopicPartition("never", 0), 0, True))).error is ErrorCode.NONE


async def test_one_request_that_deletes_many_writes_each_checkpoint_once(room, scene, monkeypatch):
    many = [TopicPartition("many", number) for number in range(4)]
    await scene.order(*(room.order(2, 3, topic_partition=tp) for tp in many))
    written = []
    monkeypatch.setattr(log_dir, "write_offsets", lambda path, _offsets: written.append(path.name))
    await scene.stop(*((tp, 3, True) for tp in many))
    room.logs.purge_deleted()
    room.logs.close()
    assert written[:3] == [log_dir.RECOVERY_POINT, log_dir.LOG_START_OFFSET, log_dir.HIGH_WATERMARK]
    assert written[3:] == [log_dir.RECOVERY_POINT, log_dir.LOG_START_OFFSET]


async def test_a_replica_that_never_was_in_sync_is_deleted_in_the_epoch_that_added_it(room, scene):
    """A reassignment was cancelled before this replica had caught up: nobody raised the epoch since."""
    await scene.order(room.order(2, 3))
    assert (await scene.stop((TP, 3, True))).partition_errors == {TP: ErrorCode.NONE}
    assert room.logs.get(TP) is None


async def test_a_delete_that_the_disk_refuses(room, scene, monkeypatch, tmp_path):
    await scene.order(room.order(2, 3))
    monkeypatch.setattr(room.logs, "delete", Mock(side_effect=KafkaStorageError(tmp_path, "test")))
    assert (await scene.stop((TP, -2, True))).partition_errors == {TP: ErrorCode.KAFKA_STORAGE_ERROR}


async def test_what_cannot_be_prepared_is_skipped_until_it_is_sent_again(room, scene):
    answers = ["SessionExpired: over", None]

    async def prepare(_request):
        return answers.pop(0)

    scene.control_requests._prepare = prepare
    orders = room.order(1, 3), room.order(2, 4, topic_partition=OTHER)
    answer = await scene.order(*orders)
    assert set(answer.partition_errors.values()) == {ErrorCode.UNKNOWN_SERVER_ERROR}, "there are no logs yet"
    assert list(room.hosted.all) == []
    skipped = [(line.kind, line.level, line.cause) for line in scene.lines if line.cause]
    assert skipped == [
        (Kind.BECOME_LEADER_ZOOKEEPER_EXCEPTION, Level.ERROR, "SessionExpired: over"),
        (Kind.BECOME_FOLLOWER_ZOOKEEPER_EXCEPTION, Level.ERROR, "SessionExpired: over"),
    ]
    await scene.order(*orders)
    assert room.hosted.get(TP).replica.is_leader


async def test_preparations_come_before_the_first_log(room, scene):
    seen = []

    async def prepare(request):
        seen.append(
            [p.topic_partition for p in request.partitions if room.hosted.get(p.topic_partition) is None]
        )

    leadership = ControlRequests(
        room.hosted,
        room.metadata,
        ControlGate(),
        scene.fetchers,
        write=lambda _line: None,
        on_metadata=lambda _: None,
        prepare=prepare,
    )
    await leadership.leader_and_isr(LeaderAndIsrRequest(9, 1, 1, (room.order(1, 0),), ()))
    assert seen == [[TP]]


FIRST, SECOND = TopicIdentity(1700, 8), TopicIdentity(1700, 9)


async def test_the_log_of_a_topic_that_was_deleted_and_made_again_is_not_adopted(room, scene, tmp_path):
    """Its old records stayed: neither isNew nor leader epoch 0 told the broker that its log was a stray."""
    room.logs.get_or_create(TP).append_as_leader(room.batch(b"old"), 0)
    room.logs.get(TP).identify(FIRST)
    answer = await scene.order(room.order(2, 4, (2, 3), is_new=False, identity=SECOND))
    assert answer.partition_errors == {TP: ErrorCode.NONE}
    assert room.hosted.get(TP).log.log_end_offset == 0
    assert scene.fetchers.followed == {TP: (2, 4, 9002)}
    assert len(list(tmp_path.glob("t-0.*-stray"))) == 1


@pytest.mark.parametrize(("leader", "isr"), [(1, (1,)), (2, (1, 2)), (-1, (1,))])
async def test_who_is_in_sync_with_the_log_of_another_topic_is_refused(room, scene, leader, isr):
    log = room.logs.get_or_create(TP)
    room.logs.get(TP).identify(FIRST)
    answer = await scene.order(room.order(leader, 4, isr, is_new=False, identity=SECOND))
    assert answer.partition_errors == {TP: ErrorCode.KAFKA_STORAGE_ERROR}
    assert (room.hosted.get(TP), room.logs.get(TP)) == (None, log)
    # Out of the ISR it begins with an empty log.
    answer = await scene.order(room.order(2, 5, (2,), is_new=False, identity=SECOND))
    assert answer.partition_errors == {TP: ErrorCode.NONE}
    assert room.hosted.get(TP).log is not log


@pytest.mark.parametrize(("is_new", "epoch"), [(True, 0), (False, 3), (False, 7)])
async def test_leader_epochs_of_another_topic_of_that_name_are_not_compared(room, scene, is_new, epoch):
    """A broker that was cut off, and lives, ignored the new topic until its leader epochs were higher."""
    await scene.order(room.order(2, 5, identity=FIRST))
    former = room.hosted.get(TP)
    answer = await scene.order(room.order(3, epoch, (2, 3), is_new=is_new, identity=SECOND))
    assert answer.partition_errors == {TP: ErrorCode.NONE}
    assert room.hosted.get(TP) is not former
    assert scene.fetchers.followed == {TP: (3, epoch, 9003)}


async def test_a_log_of_an_unknown_topic_is_identified_in_the_same_leader_epoch(room, scene):
    """So it is after an update of all brokers, where the last one that restarts becomes controller."""
    await scene.order(room.order(2, 5))
    assert room.logs.get(TP).topic is None
    answer = await scene.order(room.order(2, 5, is_new=False, identity=FIRST))
    assert answer.partition_errors == {TP: ErrorCode.STALE_CONTROLLER_EPOCH}
    assert room.logs.get(TP).topic == FIRST


async def test_a_disk_that_takes_no_identity_fails_as_others(room, scene, monkeypatch, tmp_path):
    await scene.order(room.order(2, 5))
    log = room.hosted.get(TP).log
    monkeypatch.setattr(log, "identify", Mock(side_effect=KafkaStorageError(tmp_path, "test")))
    await scene.order(room.order(2, 5, is_new=False, identity=FIRST))
    assert list(room.hosted.offline) == [TP]
