"""kafka-topics.sh: its flags, its layout and its complaints; the cluster is asked in tests/integration."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest
from kafka.protocol.admin import ListPartitionReassignmentsRequest

from barnabas.cluster.model.configs.described import ConfigSource
from barnabas.tools.clients import admin_client
from barnabas.tools.clients.admin_client import (
    AdminError,
    Answer,
    NotSupported,
    PartitionMetadata,
    TopicMetadata,
)
from barnabas.tools.command_line.parser import ToolError, UsageError
from barnabas.tools.topics import topics
from barnabas.tools.topics.topics import (
    OPTIONS,
    check,
    check_numbers,
    parse_configs,
    parse_replica_assignment,
    select,
)

NAMES = ["orders", "orders.eu", "bills", "__consumer_offsets"]


def checked(*arguments: str) -> None:
    check(OPTIONS.parse(["--bootstrap-server", "h:1", *arguments]))


@pytest.mark.parametrize(
    "line",
    [
        "--create --topic t",
        "--create --topic t --partitions 3 --replication-factor 2 --config a=b --if-not-exists",
        "--create --topic t --replica-assignment 1:2,2:1",
        "--alter --topic t --partitions 3 --replica-assignment 1:2,2:1,1:2 --if-exists",
        "--delete --topic t --if-exists --force",
        "--list --exclude-internal",
        "--describe --topic t --if-exists --under-replicated-partitions",
        "--describe --topics-with-overrides",
    ],
)
def test_these_go_together(line: str) -> None:
    checked(*line.split())


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--topic t",
        "--list --create --topic t",
        "--list --zookeeper h:2",
        "--create",
        "--delete",
        "--describe --if-exists",
        "--alter --topic t",
        "--alter --topic t --partitions 2 --config a=b",
        "--alter --topic t --partitions 2 --delete-config a",
        "--describe --topic t --config a=b",
        "--delete --topic t --partitions 2",
        "--list --if-exists --topic t",
        "--delete --topic t --if-not-exists",
        "--delete --topic t --exclude-internal",
        "--list --unavailable-partitions",
        "--create --topic t --replica-assignment 1 --partitions 1",
        "--describe --at-min-isr-partitions --topics-with-overrides",
        "--describe --at-min-isr-partitions --under-min-isr-partitions",
    ],
)
def test_these_do_not(line: str) -> None:
    with pytest.raises((UsageError, SystemExit)):
        checked(*line.split())


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("--partitions 0", "The partitions must be greater than 0"),
        ("--replication-factor 0", "The replication factor must be between 1 and 32767 inclusive"),
        (
            "--partitions 0 --replication-factor 32768",
            "The replication factor must be between 1 and 32767 inclusive",
        ),
    ],
)
def test_a_topic_has_partitions_and_replicas(line: str, complaint: str) -> None:
    with pytest.raises(ToolError) as refused:
        check_numbers(OPTIONS.parse(["--bootstrap-server", "h:1", "--list", *line.split()]))
    assert str(refused.value) == complaint


def test_configs_are_name_and_value() -> None:
    assert parse_configs(["a.b=1", "c = x y "]) == {"a.b": "1", "c": "x y"}


@pytest.mark.parametrize("setting", ["retention.ms", "retention.ms=", "a=b=c", ""])
def test_a_config_has_one_equals_sign_and_something_behind_it(setting: str) -> None:
    with pytest.raises(ToolError) as refused:
        parse_configs(["a.b=1", setting])
    assert str(refused.value) == (
        'requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".'
    )


def test_an_assignment_is_a_list_of_brokers_for_each_partition() -> None:
    assert parse_replica_assignment("1:2,2 : 3") == [[1, 2], [2, 3]]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1:a", "'1:a' is not of the form ID:ID"),
        ("", "is not of the form ID:ID"),
        ("1:3000000000", "'1:3000000000' is not of the form ID:ID"),
        ("1:2:1", "may not contain duplicate entries: 1"),
        ("1:2,1", "Partition 1 has different replication factor"),
    ],
)
def test_an_assignment_that_is_none(text: str, complaint: str) -> None:
    with pytest.raises(ToolError, match=complaint):
        parse_replica_assignment(text)


def test_topics_are_selected_by_a_regular_expression_for_whole_names() -> None:
    assert select(NAMES, None) == ["__consumer_offsets", "bills", "orders", "orders.eu"]
    assert select(NAMES, None, exclude_internal=True) == ["bills", "orders", "orders.eu"]
    assert select(NAMES, "orders") == ["orders"]
    assert select(NAMES, "orders.*") == ["orders", "orders.eu"]
    assert select(NAMES, '"bills, orders"') == ["bills", "orders"]
    with pytest.raises(ToolError, match="is an invalid regex"):
        select(NAMES, "(")


def partition(number: int, leader: int = 1) -> PartitionMetadata:
    return PartitionMetadata(number, leader, (1, 2), (1, 2))


def setting(name: str, value: str, source: ConfigSource) -> Any:
    return SimpleNamespace(
        name=name, value=value, is_sensitive=False, config_source=source.value, synonyms=[]
    )


class Admin:
    """A cluster with one topic."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.result = SimpleNamespace(error_code=0, error_message=None)
        self.moving: Any = []
        self.tried_before = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def topics(self) -> dict[str, TopicMetadata]:
        return {"orders": TopicMetadata("orders", {0: partition(0), 1: partition(1, -1)})}

    def racks(self) -> dict[int, str | None]:
        return {1: None, 2: None}

    def ask(self, request: Any) -> Any:
        configs = [
            setting("min.insync.replicas", "2", ConfigSource.DYNAMIC_TOPIC_CONFIG),
            setting("flush.ms", "9", ConfigSource.DEFAULT_CONFIG),
        ]
        return SimpleNamespace(results=[SimpleNamespace(error_code=0, error_message=None, configs=configs)])

    def ask_controller(self, request: Any, deadline_ms: int = 0) -> Answer:
        if isinstance(request, ListPartitionReassignmentsRequest):
            if isinstance(self.moving, Exception):
                raise self.moving
            return Answer(SimpleNamespace(error_code=0, topics=self.moving))
        self.asked.append(request)
        results = [self.result]
        return Answer(SimpleNamespace(topics=results, results=results, responses=results), self.tried_before)


@pytest.fixture
def admin() -> Admin:
    return Admin()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], admin: Admin) -> Any:
    def call(*flags: str) -> tuple[int, str, str]:
        monkeypatch.setattr(topics, "AdminClient", lambda servers, settings: admin)
        code = topics.main(["--bootstrap-server", "h:1", *flags])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def test_create_says_so_and_asks_for_what_the_flags_say(run: Any, admin: Admin) -> None:
    flags = ("--partitions", "3", "--replication-factor", "2", "--config", "flush.ms=9")
    assert run("--create", "--topic", "t", *flags) == (0, "Created topic t.\n", "")
    assert run("--create", "--topic", "a_b", "--replica-assignment", "1:2,2:1")[1] == (
        f"{topics.COLLISION_WARNING}\nCreated topic a_b.\n"
    )
    ((one,), (other,)) = (request.topics for request in admin.asked)
    assert one == ("t", 3, 2, [], [("flush.ms", "9")])
    assert other == ("a_b", -1, -1, [(0, [1, 2]), (1, [2, 1])], [])


def test_what_the_cluster_refuses_is_one_line_in_its_words(run: Any, admin: Admin) -> None:
    admin.result = SimpleNamespace(error_code=36, error_message="Topic 'orders' already exists.")
    line = "Error while executing topic command : Topic 'orders' already exists.\n"
    assert run("--create", "--topic", "orders") == (1, line, "")
    assert run("--create", "--topic", "orders", "--if-not-exists") == (0, "", "")
    admin.tried_before = True
    code, out, _ = run("--create", "--topic", "orders")
    assert code == 1
    assert "An earlier try of this request was not answered and may have been carried out." in out


def test_alter_sends_the_replicas_of_new_partitions_however_many(run: Any, admin: Admin) -> None:
    words = "Increasing the number of partitions by 2 but 1 assignments provided."
    admin.result = SimpleNamespace(error_code=39, error_message=words)
    flags = ("--topic", "orders", "--partitions", "4", "--replica-assignment", "1:2,1:2,2:1")
    assert run("--alter", *flags) == (1, f"Error while executing topic command : {words}\n", "")
    (request,) = admin.asked
    assert request.topics == [("orders", 4, [([2, 1],)])]


def test_delete_names_what_the_regular_expression_matches(run: Any, admin: Admin) -> None:
    assert run("--delete", "--topic", "ord.*") == (0, "", "")
    (request,) = admin.asked
    assert request.topic_names == ["orders"]
    assert run("--delete", "--topic", "x")[0] == 1
    assert run("--list") == (0, "orders\n", "")


DESCRIBED = "Topic: orders\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: min.insync.replicas=2"


def test_describe_tells_what_moves(run: Any, admin: Admin) -> None:
    told = SimpleNamespace(partition_index=1, replicas=[3, 1, 2], adding_replicas=[3], removing_replicas=[2])
    admin.moving = [SimpleNamespace(name="orders", partitions=[told])]
    code, out, err = run("--describe")
    assert (code, err, out.splitlines()[0]) == (0, "", DESCRIBED)
    assert out.splitlines()[2].endswith(
        "Leader: none\tReplicas: 1,2\tIsr: 1,2\tAdding Replicas: 3\tRemoving Replicas: 2"
    )


def test_describe_does_without_a_controller(run: Any, admin: Admin) -> None:
    admin.moving = AdminError("there is none")
    code, out, err = run("--describe", "--topic", "orders")
    assert (code, out.splitlines()[0]) == (0, DESCRIBED)
    assert err == (
        "WARNING: running reassignments are not shown, because no controller listed them: there is none\n"
    )
    admin.moving = NotSupported("too old")
    assert run("--describe", "--unavailable-partitions") == (
        0,
        "\tTopic: orders\tPartition: 1\tLeader: none\tReplicas: 1,2\tIsr: 1,2\n",
        "",
    )


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("--bootstrap-server h:1 --create", "--topic"),
        ("--list", "--bootstrap-server"),
        ("--bootstrap-server h:1 --create --topic t --partitions many", "many"),
    ],
)
def test_options_that_make_no_sense_end_the_tool_with_1(
    line: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert topics.main(line.split()) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert complaint in err.splitlines()[-1]


def test_warnings_come_before_the_error(run: Any) -> None:
    flags = ("--replication-factor", "0", "--config", "message.format.version=2.6")
    code, out, _ = run("--create", "--topic", "a.b", *flags)
    warning, *others = out.splitlines()
    assert (code, warning.startswith("WARNING: The configuration message.format.version=2.6")) == (1, True)
    assert others == [
        topics.COLLISION_WARNING,
        "Error while executing topic command : The replication factor must be between 1 and 32767 inclusive",
    ]


def test_a_list_of_nothing_is_an_empty_line(run: Any) -> None:
    assert run("--list", "--topic", "nothing.*") == (0, "\n", "")


@pytest.mark.parametrize(
    "action",
    [["--list"], ["--describe"], ["--create", "--topic", "orders"], ["--delete", "--topic", "orders"]],
)
def test_a_server_that_cannot_be_reached_is_named_in_one_line(
    action: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin_client, "REACH_MS", 100)
    assert topics.main(["--bootstrap-server", "127.0.0.1:1", *action]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert "No broker answered at --bootstrap-server 127.0.0.1:1 within 0.1 s" in line


@pytest.mark.parametrize(
    ("text", "complaint"), [("colour=red", "colour"), (None, "client.properties cannot be read")]
)
def test_a_client_that_cannot_be_made_is_an_error(
    text: str | None, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "client.properties"
    if text is not None:
        file.write_text(text)
    assert topics.main(["--bootstrap-server", "h:1", "--command-config", str(file), "--list"]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("Error while executing topic command : ")
    assert complaint in printed
