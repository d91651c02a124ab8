"""A log directory fails or is full: its replicas go offline, others lead, the broker stays (KIP-112)."""

from __future__ import annotations

import confluent_kafka
import confluent_kafka.admin

from barnabas.local.waiting import wait_until
from tests.logged import logged
from tests.metadata import isrs_of, metadata_of, partitions_of
from tests.trial import Trial

OVERRIDES = {
    "log.dirs": "data/one,data/two",
    # Few enough that a topic created beside it still has replicas in both directories.
    "offsets.topic.num.partitions": "1",
    "replica.high.watermark.checkpoint.interval.ms": "500",
    "num.partitions": "4",
    "default.replication.factor": "3",
}
TOPIC = "orders"


def in_directory(broker, name, topic=TOPIC):
    """The partitions of the topic that lie in a log directory of a broker."""
    directory = broker.dir / "data" / name
    return {int(path.name.rpartition("-")[2]) for path in directory.glob(f"{topic}-*")}


def produce_to_each(cluster):
    outcome = []
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    for number in range(4):
        producer.produce(TOPIC, b"x", partition=number, on_delivery=lambda error, _: outcome.append(error))
    producer.flush(60)
    return outcome


def test_others_lead_what_lay_there_and_the_broker_stays(cluster, admin):
    topic = confluent_kafka.admin.NewTopic(TOPIC, 4, 3)
    admin.create_topics([topic])[TOPIC].result(90)
    wait_until(lambda: TOPIC in metadata_of(admin).topics, f"{TOPIC} in the metadata")
    assert produce_to_each(cluster) == [None] * 4
    broker = cluster.brokers[partitions_of(admin, TOPIC)[0].leader]
    one, two = in_directory(broker, "one"), in_directory(broker, "two")
    assert len(one) == len(two) == 2
    name, gone, kept = ("one", one, two) if 0 in one else ("two", two, one)
    pid = broker.pid
    led = {number for number, p in partitions_of(admin, TOPIC).items() if p.leader == broker.id}

    (broker.dir / "data" / name).rename(broker.dir / "elsewhere")

    def is_moved():
        now = partitions_of(admin, TOPIC)
        return all(broker.id not in now[n].isrs and now[n].leader not in (-1, broker.id) for n in gone)

    wait_until(is_moved, f"{gone} away from broker {broker.id}", last=lambda: isrs_of(admin, TOPIC))
    now = partitions_of(admin, TOPIC)
    assert all(broker.id in now[number].isrs for number in kept)
    assert {number for number in kept if now[number].leader == broker.id} == led & kept
    assert broker.pid == pid
    assert produce_to_each(cluster) == [None] * 4
    assert broker.gauge("kafka_log_LogManager_OfflineLogDirectoryCount") == 1

    # A start without the directory makes no empty log in the place of one that may lie there.
    (broker.dir / "data" / name).touch()
    cluster.terminate(broker.id)
    cluster.restart(broker.id)
    wait_until(
        lambda: all(broker.id in partitions_of(admin, TOPIC)[n].isrs for n in kept), "its return into the ISR"
    )
    assert in_directory(broker, "two" if name == "one" else "one") == kept
    assert not any(broker.id in partitions_of(admin, TOPIC)[number].isrs for number in gone)

    # With the directory back, so are its replicas.
    cluster.terminate(broker.id)
    (broker.dir / "data" / name).unlink()
    (broker.dir / "elsewhere").rename(broker.dir / "data" / name)
    cluster.restart(broker.id)
    wait_until(
        lambda: all(broker.id in partition.isrs for partition in partitions_of(admin, TOPIC).values()),
        "its return into every ISR",
        last=lambda: isrs_of(admin, TOPIC),
    )


def test_a_directory_that_fails_under_load_costs_no_record(cluster, tmp_path):
    with Trial(cluster, topic="loaded", rate=300) as trial:
        trial.workload.wait_for_progress(60)
        leaders = [seen.leader for seen in trial.look().partitions.values()]
        broker = cluster.brokers[max(set(leaders), key=leaders.count)]
        gone, kept = (in_directory(broker, name, "loaded") for name in ("one", "two"))
        assert gone
        assert kept
        pid = broker.pid
        (broker.dir / "data" / "one").rename(broker.dir / "elsewhere")
        trial.wait_for(
            lambda view: all(
                (broker.id in seen.isr) == (tp.partition in kept) for tp, seen in view.partitions.items()
            ),
            f"broker {broker.id} in sync where its good directory is, and nowhere else",
        )
        trial.workload.wait_for_progress(60)
        assert broker.pid == pid

        cluster.terminate(broker.id)
        (broker.dir / "elsewhere").rename(broker.dir / "data" / "one")
        cluster.restart(broker.id)
        trial.wait_until_in_sync()
        trial.workload.wait_for_progress(60)
    verdict = trial.judge(keep_in=tmp_path)
    assert verdict.problems() == []
    assert verdict.unknown == verdict.failed == 0
    assert verdict.acknowledged == verdict.read == verdict.sent


def test_a_broker_without_a_log_directory_stops_and_others_lead(cluster):
    """It has served with one of the two; now that one fails, too."""
    with Trial(cluster, topic="homeless", rate=300) as trial:
        trial.workload.wait_for_progress(60)
        leaders = [seen.leader for seen in trial.look().partitions.values()]
        broker = cluster.brokers[max(set(leaders), key=leaders.count)]
        directories = [broker.dir / "data" / name for name in ("one", "two")]
        for directory in directories:
            directory.rename(broker.dir / directory.name)
        wait_until(lambda: broker.exit_status is not None, f"the end of broker {broker.id}")
        assert broker.exit_status == 1
        log = logged(broker.directory / "logs" / "server.log")
        paths = ", ".join(map(str, directories))
        line = f"FATAL Shutdown broker because all log dirs in {paths} have failed (kafka.log.LogManager)"
        assert line in log
        assert "Traceback" not in log[log.index(line) :]
        trial.wait_for(
            lambda view: all(broker.id not in seen.isr for seen in view.partitions.values()),
            f"all partitions without broker {broker.id}",
        )
        trial.workload.wait_for_progress(60)

        for directory in directories:
            (broker.dir / directory.name).rename(directory)
        cluster.restart(broker.id)
        trial.wait_until_in_sync()
        trial.workload.wait_for_progress(60)
    verdict = trial.judge()
    assert verdict.problems() == []
    assert verdict.unknown == verdict.failed == 0
