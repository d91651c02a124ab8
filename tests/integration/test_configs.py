"""Settings altered while the cluster runs, by real clients on real processes."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import confluent_kafka
import confluent_kafka.admin
import kafka
import kafka.admin
import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

from barnabas.local.waiting import wait_until
from tests.integration.records import delivery_error
from tests.metadata import metadata_of, partitions_of

SCRIPTS = Path(__file__).parents[2] / "scripts"
TOPIC, BROKER = ConfigResource.Type.TOPIC, ConfigResource.Type.BROKER
SET, DELETE, APPEND = AlterConfigOpType.SET, AlterConfigOpType.DELETE, AlterConfigOpType.APPEND
DYNAMIC_TOPIC, DYNAMIC_BROKER, DYNAMIC_DEFAULT = 1, 2, 3


@pytest.fixture(scope="module")
def python_admin(cluster):
    admin = kafka.KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    yield admin
    admin.close()


def create(admin, name, replicas=None, **config):
    settings = {key.replace("_", "."): value for key, value in config.items()}
    placed = {"replication_factor": 3} if replicas is None else {"replica_assignment": [replicas]}
    topic = confluent_kafka.admin.NewTopic(name, 1, config=settings, **placed)
    admin.create_topics([topic])[name].result(90)
    wait_until(lambda: name in metadata_of(admin).topics, f"{name} in the metadata")


def alter(admin, type_, name, *steps):
    """IncrementalAlterConfigs by librdkafka; raises what the cluster refuses."""
    entries = [ConfigEntry(key, value, incremental_operation=operation) for key, operation, value in steps]
    resource = ConfigResource(type_, name, incremental_configs=entries)
    admin.incremental_alter_configs([resource])[resource].result(90)


def described(admin, type_, name):
    resource = ConfigResource(type_, name)
    return admin.describe_configs([resource])[resource].result(90)


def produce(cluster, topic, value=b"x"):
    """Write one record with acks=all, once; the name of the error, or None."""
    return delivery_error(cluster.bootstrap, topic, value, **{"retries": 0, "message.max.bytes": 10_000_000})


def tool(script, *arguments, text=None):
    """Run a script as a person would: exit code, what it printed, what it complained of."""
    done = subprocess.run(
        [SCRIPTS / script, *arguments], capture_output=True, text=True, check=False, timeout=60, input=text
    )
    return done.returncode, done.stdout, done.stderr


def shell(cluster, *words):
    """What ZooKeeper's shell answers to one command, without its greeting, and what it complains of."""
    code, out, err = tool("zookeeper-shell.sh", cluster.zookeeper_connect, *words)
    head = "WatchedEvent state:SyncConnected type:None path:null\n"
    return code, out.partition(head)[2] + err


def test_min_insync_replicas_holds_live(cluster, admin):
    create(admin, "durable", replicas=[1, 2, 9], min_insync_replicas="2")  # there is no broker 9
    assert produce(cluster, "durable") is None
    alter(admin, TOPIC, "durable", ("min.insync.replicas", SET, "3"))
    wait_until(lambda: produce(cluster, "durable") == "NOT_ENOUGH_REPLICAS", "the refusal")
    told = described(admin, TOPIC, "durable")["min.insync.replicas"]
    assert (told.value, told.source) == ("3", DYNAMIC_TOPIC)
    alter(admin, TOPIC, "durable", ("min.insync.replicas", DELETE, None))
    wait_until(lambda: produce(cluster, "durable") is None, "a record that is taken")


@pytest.mark.filterwarnings("ignore:alter_configs has been deprecated")
def test_max_message_bytes_holds_live_and_alter_configs_replaces_the_rest(cluster, admin):
    create(admin, "small", flush_ms="60000")
    assert produce(cluster, "small", bytes(5000)) is None
    resource = ConfigResource(TOPIC, "small", set_config={"max.message.bytes": "2000"})
    admin.alter_configs([resource])[resource].result(90)
    wait_until(lambda: produce(cluster, "small", bytes(5000)) == "MSG_SIZE_TOO_LARGE", "the refusal")
    told = described(admin, TOPIC, "small")
    assert (told["max.message.bytes"].value, told["flush.ms"].source) == ("2000", 5)


def test_a_setting_of_a_broker_reaches_the_topics_it_leads(cluster, python_admin, admin):
    create(admin, "anywhere")
    leader = str(partitions_of(admin, "anywhere")[0].leader)
    resource = kafka.admin.ConfigResource("BROKER", leader, configs={"message.max.bytes": "3000"})
    assert python_admin.alter_configs([resource]) == {"broker": {leader: "OK"}}
    wait_until(lambda: produce(cluster, "anywhere", bytes(5000)) == "MSG_SIZE_TOO_LARGE", "the refusal")
    told = described(admin, BROKER, leader)["message.max.bytes"]
    assert (told.value, told.source, told.is_read_only) == ("3000", DYNAMIC_BROKER, False)
    resource = kafka.admin.ConfigResource("BROKER", leader, configs={"message.max.bytes": ("DELETE", None)})
    assert python_admin.alter_configs([resource]) == {"broker": {leader: "OK"}}
    wait_until(lambda: produce(cluster, "anywhere", bytes(5000)) is None, "a record that is taken")


def test_a_broker_that_restarts_reads_its_settings_first(cluster, admin):
    alter(admin, BROKER, "2", ("log.index.interval.bytes", SET, "8192"))
    cluster.terminate(2)
    cluster.restart(2)
    cluster.wait_ready()
    told = described(admin, BROKER, "2")["log.index.interval.bytes"]
    assert (told.value, told.source) == ("8192", DYNAMIC_BROKER)
    alter(admin, BROKER, "2", ("log.index.interval.bytes", DELETE, None))


def test_topic_settings_written_to_zookeeper_are_noticed(cluster, admin):
    create(admin, "hand-written")
    body = '{"version":1,"config":{"max.message.bytes":"2000"}}'
    assert shell(cluster, "set", "/config/topics/hand-written", body) == (0, "")
    note = '{"version":2,"entity_path":"topics/hand-written"}'
    code, out = shell(cluster, "create", "-s", "/config/changes/config_change_", note)
    assert (code, out[:46]) == (0, "Created /config/changes/config_change_00000000")
    wait_until(lambda: produce(cluster, "hand-written", bytes(5000)) == "MSG_SIZE_TOO_LARGE", "the refusal")


def test_kafka_configs_on_a_topic(cluster, admin):
    create(admin, "told")
    server = ("--bootstrap-server", cluster.bootstrap)
    entity = ("--entity-type", "topics", "--entity-name", "told")
    added = ("--add-config", "retention.ms=7200000,cleanup.policy=[delete]")
    assert tool("kafka-configs.sh", *server, "--alter", *entity, *added) == (
        0,
        "Completed updating config for topic told.\n",
        "",
    )
    code, out, err = tool("kafka-configs.sh", *server, "--describe", *entity)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "Dynamic configs for topic told are:",
        "  retention.ms=7200000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=7200000}",
        (
            "  cleanup.policy=delete sensitive=false synonyms={"
            "DYNAMIC_TOPIC_CONFIG:cleanup.policy=delete, DEFAULT_CONFIG:log.cleanup.policy=delete}"
        ),
    ]
    deleted = ("--delete-config", "retention.ms")
    assert tool("kafka-configs.sh", *server, "--alter", *entity, *deleted)[0] == 0
    code, _, err = tool("kafka-configs.sh", *server, "--alter", *entity, *deleted)
    assert code == 1
    assert err.endswith("Invalid config(s): retention.ms\n")
    code, _, err = tool("kafka-configs.sh", *server, "--alter", *entity, "--add-config", "colour=red")
    assert code == 1
    assert err.endswith(".InvalidConfigurationException: Unknown topic config name: colour\n")


def test_kafka_configs_on_all_brokers(cluster, admin):
    server, everybody = ("--bootstrap-server", cluster.bootstrap), ("--entity-type", "brokers")
    default = (*everybody, "--entity-default")
    setting = ("--add-config", "log.cleaner.delete.retention.ms=1000")
    assert tool("kafka-configs.sh", *server, "--alter", *default, *setting) == (
        0,
        "Completed updating default config for brokers in the cluster.\n",
        "",
    )

    def is_told_by_all():
        told = [
            described(admin, BROKER, str(id_))["log.cleaner.delete.retention.ms"] for id_ in cluster.brokers
        ]
        return all((each.value, each.source) == ("1000", DYNAMIC_DEFAULT) for each in told)

    wait_until(is_told_by_all, "the setting at every broker")
    _, out, _ = tool("kafka-configs.sh", *server, "--describe", *everybody)
    lines = out.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [
        "Dynamic configs for broker 1 are:",
        "Dynamic configs for broker 2 are:",
        "Dynamic configs for broker 3 are:",
        "Default configs for brokers in the cluster are:",
    ]
    assert lines[-1] == (
        "  log.cleaner.delete.retention.ms=1000 sensitive=false "
        "synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:log.cleaner.delete.retention.ms=1000}"
    )
    removal = ("--delete-config", "log.cleaner.delete.retention.ms")
    assert tool("kafka-configs.sh", *server, "--alter", *default, *removal)[0] == 0


def test_zookeeper_shell(cluster):
    """A session with each kind of command; exit codes are tested beside the shell."""
    made = ("ls /brokers/ids", "get /feature", "create /castle village", "create /castle/k", "get -s /castle")
    typed = "\n".join((*made, "delete /castle", "deleteall /castle", "stat /castle"))
    code, out, err = tool("zookeeper-shell.sh", cluster.zookeeper_connect, text=typed)
    created = ["Created /castle", "Created /castle/k"]
    assert (code, err.splitlines()) == (
        1,
        [*created, "/castle has children", "/castle does not exist"],
    )
    said = out.partition("WatchedEvent state:SyncConnected type:None path:null\n")[2].splitlines()
    assert said[:3] == ["[1, 2, 3]", '{"version":1,"status":0,"features":{}}', "village"]
    lines = dict(line.split(" = ") for line in said[3:])
    assert (lines["dataVersion"], lines["dataLength"], lines["numChildren"]) == ("0", "7", "1")
    assert lines["ctime"].endswith(time.strftime("%Y", time.gmtime()))
