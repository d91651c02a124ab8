from barnabas.testing import story
from barnabas.testing.story import Action, stamp, story_of

CACHED = (
    "[2026-11-21 03:12:{at}] TRACE [Broker id={by}] Cached leader info UpdateMetadataPartitionState("
    "topicName='{topic}', partitionIndex={n}, controllerEpoch=1, leader={leader}, leaderEpoch={epoch}, "
    "isr=[{isr}], zkVersion={version}, replicas=[1, 2, 3], offlineReplicas=[]) for partition {topic}-{n} in "
    "response to UpdateMetadata request sent by controller 1 epoch 1 with correlation id 5 "
    "(state.change.logger)\n"
)
DELETED = (
    "[2026-11-21 03:12:{at}] TRACE [Broker id=1] Deleted partition {tp} from metadata cache in response to "
    "UpdateMetadata request sent by controller 1 epoch 1 with correlation id 6 (state.change.logger)\n"
)
UPDATED = (
    "[2026-11-21 03:12:{at}] INFO [Partition orders-0 broker=1] ISR updated to {isr} and version updated to "
    "[{version}] (barnabas.broker.replicas.isr_keeper)\n"
)
ELECTED = (
    "[2026-11-21 03:12:{at}] INFO [Controller id={by} epoch={epoch}] Sending UpdateMetadata request to "
    "brokers HashSet(1, 2) for 6 partitions (state.change.logger)\n"
)


def cached(at, *, by=1, topic="orders", n=0, leader=1, epoch=0, isr="1, 2, 3", version=0):
    return CACHED.format(at=at, by=by, topic=topic, n=n, leader=leader, epoch=epoch, isr=isr, version=version)


def test_a_change_is_told_once_when_the_first_broker_knows_it():
    lines = [
        cached("01,500", by=2),
        cached("01,000"),
        cached("05,000", by=2, leader=-1, epoch=1, isr="2, 3", version=1),
        cached("06,000", by=3, leader=2, epoch=2, isr="2, 3", version=2),
        cached("05,100", by=3, leader=-1, epoch=1, isr="2, 3", version=1),
    ]
    assert story_of([Action("2026-11-21 03:12:03,000", "SIGKILL to broker 1")], lines, "") == [
        "03:12:01,000 orders-0: leader 1, ISR 1,2,3",
        "03:12:03,000 --- SIGKILL to broker 1",
        "03:12:05,000 orders-0: leader 1 -> none (leader epoch 1), ISR 1,2,3 -> 2,3",
        "03:12:06,000 orders-0: leader none -> 2 (leader epoch 2)",
    ]


def test_what_was_before_is_known_and_not_told():
    lines = [cached("01,000"), cached("05,000", leader=1, epoch=1, version=1)]
    assert story_of([], lines, "2026-11-21 03:12:04,000") == [
        "03:12:05,000 orders-0: leader 1 again, leader epoch 1"
    ]


def test_partitions_that_change_alike_share_a_line():
    lines = [cached("01,000", n=n) for n in (0, 1, 2)]
    lines += [cached("01,000", topic="bills", n=0)]
    assert story_of([], lines, "") == [
        "03:12:01,000 bills-0: leader 1, ISR 1,2,3",
        "03:12:01,000 orders-0,1,2: leader 1, ISR 1,2,3",
    ]


def test_a_leader_says_first_that_it_changed_the_isr():
    lines = [
        cached("01,000"),
        UPDATED.format(at="02,000", isr="1,3", version=1),
        cached("04,000", isr="1, 3", version=1),
    ]
    assert story_of([], lines, "")[1:] == ["03:12:02,000 orders-0: ISR 1,2,3 -> 1,3"]


def test_a_controller_is_told_once_an_epoch():
    lines = [
        ELECTED.format(at="01,000", by=1, epoch=1),
        ELECTED.format(at="02,000", by=1, epoch=1),
        ELECTED.format(at="03,000", by=2, epoch=2),
        ELECTED.format(at="03,500", by=1, epoch=1),
    ]
    assert story_of([], lines, "") == [
        "03:12:01,000 broker 1 is the controller, epoch 1",
        "03:12:03,000 broker 2 is the controller, epoch 2",
    ]


def test_a_topic_that_comes_again_is_told_again():
    lines = [cached("01,000"), DELETED.format(at="02,000", tp="orders-0"), cached("03,000")]
    assert story_of([], lines, "") == [
        "03:12:01,000 orders-0: leader 1, ISR 1,2,3",
        "03:12:02,000 orders-0: deleted",
        "03:12:03,000 orders-0: leader 1, ISR 1,2,3",
    ]


def test_other_lines_and_traces_say_nothing():
    lines = [
        "[2026-11-21 03:12:01,000] INFO started (kafka.server.KafkaServer)\n",
        "\tat x\n",
        "",
        UPDATED.format(at="02,000", isr="1,3", version=1),  # of a partition that nobody has named
    ]
    assert story_of([], lines, "") == []


def test_a_long_story_keeps_its_end(monkeypatch):
    monkeypatch.setattr(story, "MOST_LINES", 2)
    actions = [Action(f"2026-11-21 03:12:0{second},000", f"action {second}") for second in range(5)]
    assert story_of(actions, [], "") == [
        "(3 earlier lines are left out)",
        "03:12:03,000 --- action 3",
        "03:12:04,000 --- action 4",
    ]


def test_a_stamp_is_that_of_the_logs(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    story.time.tzset()
    assert stamp(1_763_694_765.6789) == "2025-11-21 03:12:45,678"
