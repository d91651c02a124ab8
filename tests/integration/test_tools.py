"""Kafka's tools for groups, offsets, records and files as a user runs them, on one cluster."""

from __future__ import annotations

import json
import re
import subprocess
import time
from pathlib import Path

import confluent_kafka
import confluent_kafka.admin
import pytest

from barnabas.cluster.model.errors import ErrorCode
from barnabas.local.waiting import wait_until

SCRIPTS = Path(__file__).parents[2] / "scripts"
PATIENCE_S = 60
RECORDS = 5
"""The records in each of the two partitions."""

FIRST_MS = 1_600_000_000_000
"""The timestamp of the first record of each partition; each next one is a day younger."""

DAY_MS = 86_400_000
GROUP = "readers"
NEW_OFFSETS = "GROUP                          TOPIC                          PARTITION  NEW-OFFSET     "


class Tools:
    """Runs the scripts as a person would."""

    def __init__(self, cluster):
        self.bootstrap = cluster.bootstrap

    def run(self, name, *arguments, text=None, server="--bootstrap-server"):
        """The exit code and both outputs of a script."""
        address = () if server is None else (server, self.bootstrap)
        command = [SCRIPTS / f"kafka-{name}.sh", *address, *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=PATIENCE_S, input=text
        )
        return done.returncode, done.stdout, done.stderr

    def reset(self, topic, *arguments):
        """The new offsets of both partitions that a reset prints."""
        scope = ("--reset-offsets", "--group", GROUP, "--topic", topic)
        code, out, _ = self.run("consumer-groups", *scope, *arguments)
        lines = out.splitlines()
        assert (code, lines[:2]) == (0, ["", NEW_OFFSETS]), out
        return [line.split()[2:] for line in lines[2:]]


@pytest.fixture(scope="module")
def tools(cluster):
    return Tools(cluster)


@pytest.fixture
def topic(cluster, admin, request):
    """A topic of two partitions with `RECORDS` records in each, and offset 2 of partition 0 committed."""
    name = request.node.name.removeprefix("test_")[:40]
    # The records are old, and must not be deleted for that.
    config = {"retention.ms": "-1"}
    admin.create_topics([confluent_kafka.admin.NewTopic(name, 2, 3, config=config)])[name].result(PATIENCE_S)
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(2 * RECORDS):
        timestamp = FIRST_MS + number // 2 * DAY_MS
        producer.produce(name, str(number), f"k{number}", partition=number % 2, timestamp=timestamp)
    assert producer.flush(PATIENCE_S) == 0
    consumer = confluent_kafka.Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": GROUP})
    consumer.commit(offsets=[confluent_kafka.TopicPartition(name, 0, 2)], asynchronous=False)
    consumer.close()
    return name


@pytest.fixture
def member(cluster, topic):
    """A member of a group of its own, with both partitions."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": f"{topic}-live",
            "group.instance.id": "static",
            "client.id": "member",
            "partition.assignment.strategy": "range",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    wait_until(lambda: consumer.poll(0.1) is None and len(consumer.assignment()) == 2, "the assignment")
    yield consumer
    consumer.close()


def test_a_group_without_members_is_described_and_deleted(tools, topic):
    groups = ("consumer-groups", "--describe", "--group", GROUP)
    code, out, err = tools.run(*groups)
    assert (code, err) == (0, f"\nConsumer group '{GROUP}' has no active members.\n")
    row = next(line for line in out.splitlines() if f" {topic} " in line)
    assert row.split() == [GROUP, topic, "0", "2", "5", "3", "-", "-", "-"]
    code, out, _ = tools.run(*groups, "--state")
    assert (code, out.splitlines()[2].split()[3:]) == (0, ["Empty", "0"])
    code, out, _ = tools.run("consumer-groups", "--list", "--state", "Empty")
    assert (code, [GROUP, "Empty"] in [line.split() for line in out.splitlines()]) == (0, True)
    assert GROUP in tools.run("consumer-groups", "--list")[1].splitlines()
    offsets = ("consumer-groups", "--delete-offsets", "--group", GROUP, "--topic", topic)
    assert tools.run(*offsets)[1].splitlines()[0] == (
        f"Request succeed for deleting offsets with topic {topic} group {GROUP}"
    )
    assert f" {topic} " not in tools.run(*groups)[1]


def test_a_group_with_a_member(tools, topic, member):
    group = f"{topic}-live"
    code, out, err = tools.run("consumer-groups", "--describe", "--group", group, "--members", "--verbose")
    assert (code, err) == (0, "")
    (row,) = out.splitlines()[2:]
    assert (row.split()[0], row.split()[2:]) == (
        group,
        ["static", "/127.0.0.1", "member", "2", f"{topic}(0,1)"],
    )
    _, out, _ = tools.run("consumer-groups", "--describe", "--group", group)
    assert [line.split()[2:6] for line in out.splitlines()[2:]] == [
        ["0", "-", "5", "-"],
        ["1", "-", "5", "-"],
    ]
    _, out, _ = tools.run("consumer-groups", "--describe", "--group", group, "--state")
    assert out.splitlines()[2].split()[3:] == ["range", "Stable", "1"]
    reset = ("--reset-offsets", "--group", group, "--topic", topic, "--to-latest", "--execute")
    assert tools.run("consumer-groups", *reset)[1].splitlines()[1] == (
        f"Error: Assignments can only be reset if the group '{group}' is inactive, but the current state is "
        "Stable."
    )
    code, out, _ = tools.run("consumer-groups", "--delete", "--group", group, "--group", "nobodys")
    assert (code, out.splitlines()) == (
        0,
        [
            "",
            "Error: Deletion of some consumer groups failed:",
            (
                f"* Group '{group}' could not be deleted due to: "
                f"org.apache.kafka.common.errors.GroupNotEmptyException: {ErrorCode.NON_EMPTY_GROUP.meaning}"
            ),
            (
                "* Group 'nobodys' could not be deleted due to: org.apache.kafka.common.errors."
                f"GroupIdNotFoundException: {ErrorCode.GROUP_ID_NOT_FOUND.meaning}"
            ),
        ],
    )
    _, out, _ = tools.run("consumer-groups", "--delete-offsets", "--group", group, "--topic", f"{topic}:0")
    assert "GroupSubscribedToTopicException" in out.splitlines()[-1]


def test_offsets_are_reset_in_each_form(tools, topic):
    both = [["0", "0"], ["1", "0"]]
    assert tools.reset(topic, "--to-earliest", "--dry-run") == both
    assert tools.reset(topic, "--to-latest", "--dry-run") == [["0", "5"], ["1", "5"]]
    assert tools.reset(topic, "--to-current", "--dry-run") == [["0", "2"], ["1", "5"]]
    assert tools.reset(topic, "--to-offset", "99", "--dry-run") == [["0", "5"], ["1", "5"]]
    assert tools.reset(f"{topic}:0", "--shift-by", "-1", "--dry-run") == [["0", "1"]]
    # 2020-09-15T12:26:40Z is the timestamp of the third record.
    at = ("--to-datetime", "2020-09-15T14:26:40.000+02:00", "--dry-run")
    assert tools.reset(topic, *at) == [["0", "2"], ["1", "2"]]
    days = (time.time_ns() // 1_000_000 - FIRST_MS) // DAY_MS
    assert tools.reset(topic, "--by-duration", f"P{days}D", "--dry-run") == [["0", "1"], ["1", "1"]]
    assert tools.reset(topic, "--by-duration", "PT1S", "--dry-run") == [["0", "5"], ["1", "5"]]
    assert tools.reset(topic, "--to-offset", "1", "--execute") == [["0", "1"], ["1", "1"]]
    assert tools.reset(topic, "--to-current", "--dry-run") == [["0", "1"], ["1", "1"]]


def test_offsets_are_exported_and_read_back(tools, topic, tmp_path):
    reset = ("consumer-groups", "--reset-offsets", "--group", GROUP)
    export = ("--topic", topic, "--to-offset", "4", "--dry-run", "--export")
    code, csv, _ = tools.run(*reset, *export)
    # Jackson puts names of more than 24 characters into quotes.
    assert (code, csv) == (0, f'"{topic}",0,4\n"{topic}",1,4\n\n')
    plan = tmp_path / "plan.csv"
    plan.write_text(csv)
    code, out, _ = tools.run(*reset, "--from-file", str(plan), "--execute")
    assert (code, [line.split()[2:] for line in out.splitlines()[2:]]) == (0, [["0", "4"], ["1", "4"]])
    assert tools.reset(topic, "--to-current", "--dry-run") == [["0", "4"], ["1", "4"]]
    plan.write_text("nothing\n")
    code, out, _ = tools.run(*reset, "--from-file", str(plan), "--dry-run")
    assert (code, out.splitlines()[1]) == (
        0,
        (
            "Error: Executing consumer group command failed due to 'nothing' in the reset plan; expected "
            "group,topic,partition,offset"
        ),
    )


def test_groups_and_topics_that_are_not_there(tools):
    code, out, err = tools.run("consumer-groups", "--describe", "--group", "nobodys")
    assert (code, out, err) == (0, "\nError: Consumer group 'nobodys' does not exist.\n", "")
    reset = ("--reset-offsets", "--group", GROUP, "--topic", "nix", "--to-latest", "--dry-run")
    cause = (
        "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: "
        f"{ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.meaning}"
    )
    assert tools.run("consumer-groups", *reset) == (
        0,
        f"\nError: Executing consumer group command failed due to {cause}\n",
        "",
    )
    assert tools.run("get-offsets", "--topic", "nix") == (
        1,
        "",
        "kafka-get-offsets.sh: Topic nix does not exist\n",
    )


def test_offsets_of_a_topic_and_the_deletion_of_its_records(tools, topic, tmp_path):
    assert tools.run("get-offsets", "--topic", topic) == (0, f"{topic}:0:5\n{topic}:1:5\n", "")
    at = ("--time", str(FIRST_MS + DAY_MS), "--partitions", "1,7")
    assert tools.run("get-offsets", "--topic", topic, *at, server="--broker-list") == (
        0,
        f"{topic}:1:1\n",
        "Error: partition 7 does not exist\n",
    )
    assert tools.run("get-offsets", "--topic", topic, "--time", str(FIRST_MS * 2))[1] == (
        f"{topic}:0:\n{topic}:1:\n"
    )
    wanted = [{"topic": topic, "partition": number, "offset": offset} for number, offset in ((0, 3), (1, 99))]
    offsets = tmp_path / "offsets.json"
    offsets.write_text(json.dumps({"partitions": wanted, "version": 1}))
    assert tools.run("delete-records", "--offset-json-file", str(offsets)) == (
        0,
        (
            "Executing records delete operation\nRecords delete operation completed:\n"
            f"partition: {topic}-0\tlow_watermark: 3\n"
            f"partition: {topic}-1\terror: org.apache.kafka.common.errors.OffsetOutOfRangeException: "
            f"{ErrorCode.OFFSET_OUT_OF_RANGE.meaning}\n"
        ),
        "",
    )
    earliest = tools.run("get-offsets", "--topic", topic, "--time", "-2")
    assert earliest == (0, f"{topic}:0:3\n{topic}:1:0\n", "")


def test_log_directories_and_what_is_in_them(tools, topic, cluster):
    code, out, err = tools.run("log-dirs", "--describe", "--topic-list", topic, "--broker-list", "2,1")
    assert (code, err, out.splitlines()[:2]) == (
        0,
        "",
        [
            "Querying brokers for log directories information",
            "Received log directory information from brokers 2,1",
        ],
    )
    brokers = json.loads(out.splitlines()[2])["brokers"]
    assert [each["broker"] for each in brokers] == [1, 2]
    ((directory,),) = {tuple(Path(each["logDir"]) for each in brokers[0]["logDirs"])}
    sizes = {each["partition"]: each["size"] for each in brokers[0]["logDirs"][0]["partitions"]}
    log = directory / f"{topic}-0" / f"{0:020}.log"
    assert sizes[f"{topic}-0"] == log.stat().st_size
    code, out, err = tools.run("dump-log", "--files", str(log), "--print-data-log", server=None)
    records = [line for line in out.splitlines() if line.startswith("| offset: ")]
    assert (code, err, len(records)) == (0, "", RECORDS)
    assert records[1].endswith("headerKeys: [] key: k2 payload: 2")
    assert f" CreateTime: {FIRST_MS + DAY_MS} " in records[1]


def test_lines_become_records_and_lines_again(tools, topic):
    keyed = ("--property", "parse.key=true", "--property", "key.separator=:")
    lines = "".join(f"key{number}:väl{number}\n" for number in range(20))
    more = ("console-producer", "--topic", topic)
    assert tools.run(*more, *keyed, "--compression-codec", "zstd", text=lines) == (0, "", "")
    assert tools.run(*more, "--sync", text="\nlast", server="--broker-list") == (0, "", "")
    read = ("console-consumer", "--topic", topic, "--from-beginning", "--max-messages", "32")
    columns = [f"print.{name}=true" for name in ("timestamp", "partition", "offset", "headers", "key")]
    code, out, err = tools.run(*read, *(word for each in columns for word in ("--property", each)))
    assert (code, err) == (0, "Processed a total of 32 messages\n")
    rows = [line.split("\t") for line in out.splitlines()]
    assert {(key, value) for *_, key, value in rows} == {
        *((f"k{number}", str(number)) for number in range(10)),
        *((f"key{number}", f"väl{number}") for number in range(20)),
        ("null", ""),
        ("null", "last"),
    }
    assert [f"CreateTime:{FIRST_MS}", "Partition:1", "Offset:0", "NO_HEADERS", "k1", "1"] in rows
    code, out, err = tools.run(*more, *keyed, text="a:b\nno key\n")
    assert (code, err) == (1, "kafka-console-producer.sh: No key found on line 2: no key\n")


def test_the_offsets_topic_is_printed_as_kafka_prints_it(tools, topic, member):
    read = ("console-consumer", "--topic", "__consumer_offsets", "--from-beginning", "--timeout-ms", "3000")
    formatter = "kafka.coordinator.group.GroupMetadataManager$"
    more = ("--consumer-property", "exclude.internal.topics=false", "--formatter")
    code, out, _ = tools.run(*read, *more, f"{formatter}OffsetsMessageFormatter")
    assert code == 0
    pattern = re.escape(f"[{GROUP},{topic},0]::OffsetAndMetadata(offset=2, leaderEpoch=Optional.empty, ") + (
        r"metadata=, commitTimestamp=\d{13}, expireTimestamp=None\)"
    )
    assert any(re.fullmatch(pattern, line) for line in out.splitlines())
    code, out, _ = tools.run(*read, *more, f"{formatter}GroupMetadataMessageFormatter")
    assert code == 0
    begin = (
        f"{topic}-live::GroupMetadata(groupId={topic}-live, generation=1, protocolType=Some(consumer), "
        "currentState=Stable, members=HashMap(static-"
    )
    assert any(line.startswith(begin) for line in out.splitlines())


def test_a_pattern_leaves_out_kafkas_own_topics(tools, topic, member):
    pattern = f"({topic}|__consumer_.*)"
    read = ("console-consumer", "--whitelist", pattern, "--from-beginning", "--timeout-ms", "3000")
    shown = ("--property", "print.key=true", "--property", "print.value=false")
    code, out, _ = tools.run(*read, *shown)
    assert code == 0
    assert topic not in out  # no key of a commit, which names the group and the topic
    code, out, _ = tools.run(*read, *shown, "--consumer-property", "exclude.internal.topics=false")
    assert code == 0
    assert topic in out


def test_a_partition_and_a_group_are_read_on(tools, topic):
    read = ("console-consumer", "--topic", topic)
    code, out, err = tools.run(*read, "--partition", "1", "--offset", "3", "--timeout-ms", "500")
    assert (code, out) == (0, "7\n9\n")
    assert err.splitlines()[-2:] == [
        "ERROR: the consumer ends: no record came within --timeout-ms",
        "Processed a total of 2 messages",
    ]
    group = (*read, "--group", f"{topic}-read", "--from-beginning", "--max-messages")
    first, second = (tools.run(*group, most) for most in ("4", "6"))
    assert sorted((first[1] + second[1]).split()) == sorted(map(str, range(10)))
    assert second[2] == "Processed a total of 6 messages\n"


def metrics_in(text):
    """The metrics that a performance tool prints, by name."""
    head, *lines = text.partition("\nMetric Name")[2].splitlines()
    assert head.split() == ["Value"]
    return {name.rstrip(): float(value) for name, value in (line.rsplit(" : ", 1) for line in lines)}


def test_the_performance_tools_print_their_figures(tools, topic):
    load = ("--topic", topic, "--num-records", "500", "--throughput", "-1", "--record-size", "100")
    props = ("--producer-props", f"bootstrap.servers={tools.bootstrap}", "acks=all")
    code, out, err = tools.run("producer-perf-test", *load, *props, server=None)
    assert (code, err) == (0, "")
    words = [word for word in out.split() if not word.strip("(").replace(".", "").isdigit()]
    assert " ".join(words) == (
        "records sent, records/sec MB/sec), ms avg latency, ms max latency, "
        "ms 50th, ms 95th, ms 99th, ms 99.9th."
    )
    assert out.startswith("500 records sent, ")
    code, out, err = tools.run("producer-perf-test", *load, "--print-metrics", *props, server=None)
    assert (code, err) == (0, "")
    metrics = metrics_in(out)
    assert metrics[f"producer-topic-metrics:record-send-total:{{client-id=rdkafka, topic={topic}}}"] == 500
    assert metrics["producer-metrics:connection-count:{client-id=rdkafka}"] >= 1
    read = ("--topic", topic, "--messages", str(1000 + 2 * RECORDS), "--hide-header")
    code, out, err = tools.run("consumer-perf-test", *read, "--print-metrics")
    assert (code, err) == (0, "")
    figures = out.splitlines()[0].split(", ")
    assert (len(figures), figures[4]) == (10, "1010")
    name = f"consumer-fetch-manager-metrics:records-consumed-total:{{client-id=rdkafka, topic={topic}}}"
    assert metrics_in(out)[name] == 1010
    code, out, _ = tools.run("consumer-perf-test", *read[:3], "9999", "--timeout", "500")
    assert code == 0
    assert out.splitlines()[1].startswith("WARNING: Exiting before consuming the expected number of messages")


def test_a_verifiable_consumer_prints_what_happens_to_it(tools, topic):
    read = ("--topic", topic, "--group-id", f"{topic}-v", "--max-messages", str(2 * RECORDS), "--verbose")
    code, out, err = tools.run("verifiable-consumer", *read)
    assert (code, err) == (0, "")
    events = [json.loads(line) for line in out.splitlines()]
    names = [event["name"] for event in events]
    assert names[:2] == ["startup_complete", "partitions_assigned"]
    assert names[-2:] == ["partitions_revoked", "shutdown_complete"]
    assert names.count("record_data") == 2 * RECORDS
    commits = [event for event in events if event["name"] == "offsets_committed"]
    assert all(event["success"] for event in commits)
    committed = {each["partition"]: each["offset"] for event in commits for each in event["offsets"]}
    assert committed == {0: RECORDS, 1: RECORDS}
