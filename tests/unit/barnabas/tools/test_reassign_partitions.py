"""kafka-reassign-partitions.sh: flags, words and exit codes; the cluster is asked in tests/integration."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest
from kafka import errors

from barnabas.tools import reassign_partitions as tool
from cluster.model.ids import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
TO_3_4 = '{"partitions":[{"topic":"t","partition":0,"replicas":[3,4]}]}'
MOVING = {"replicas": [3, 1, 2], "adding_replicas": [3], "removing_replicas": [1]}


class Admin:
    """What kafka-python's admin client would answer."""

    def __init__(self, *, running: dict[TopicPartition, Any] | None = None) -> None:
        self.running = running or {}
        self.asked: list[dict[Any, Any]] = []
        self.errors: dict[Any, type[Exception]] = {}

    def list_partition_reassignments(self, **_: object) -> dict[Any, Any]:
        return dict(self.running)

    def alter_partition_reassignments(self, targets: dict[Any, Any], **_: object) -> dict[Any, Any]:
        self.asked.append({TopicPartition(*tp): target for tp, target in targets.items()})
        return {tp: self.errors.get(TopicPartition(*tp)) for tp in targets}

    def describe_cluster(self) -> dict[str, Any]:
        return {"brokers": [{"broker_id": n, "rack": None} for n in (1, 2, 3, 4)]}

    def describe_topics(self, topics: list[str]) -> list[dict[str, Any]]:
        partitions = [{"partition_index": n, "replica_nodes": [1, 2]} for n in (0, 1)]
        return [
            {
                "name": name,
                "error_code": 0 if name == "t" else 3,
                "partitions": partitions if name == "t" else [],
            }
            for name in topics
        ]

    def close(self) -> None:
        pass


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    path = tmp_path / "file.json"

    def run_it(admin: Admin, *arguments: str, file: str = TO_3_4) -> tuple[int, str]:
        path.write_text(file)
        monkeypatch.setattr(tool, "connect", lambda servers, settings: admin)
        words = [str(path) if word == "FILE" else word for word in arguments]
        code = tool.main(["--bootstrap-server", "h:1", *words])
        return code, capsys.readouterr().out

    return run_it


WITH_FILE = ("--reassignment-json-file", "FILE")


def test_execute_prints_the_way_back_and_begins(run: Any) -> None:
    admin = Admin()
    assert run(admin, "--execute", *WITH_FILE) == (
        0,
        (
            "Current partition replica assignment\n\n"
            '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["any","any"]}]}\n\n'
            "Save this to use as the --reassignment-json-file option during rollback\n"
            "Successfully started partition reassignment for t-0\n"
        ),
    )
    assert admin.asked == [{T0: [3, 4]}]


def test_execute_beside_others_only_with_additional(run: Any) -> None:
    admin = Admin(running={T1: MOVING})
    code, out = run(admin, "--execute", *WITH_FILE)
    assert (code, out.startswith("Cannot execute because there is an existing partition assignment.")) == (
        1,
        True,
    )
    assert admin.asked == []
    assert run(admin, "--execute", "--additional", *WITH_FILE)[0] == 0


def test_execute_tells_what_was_refused(run: Any) -> None:
    admin = Admin()
    admin.errors[T0] = errors.UnknownTopicOrPartitionError
    code, out = run(admin, "--execute", *WITH_FILE)
    assert code == 1
    assert "Error reassigning partition(s):\nt-0: This request is for a topic or partition that" in out


@pytest.mark.parametrize(
    ("file", "complaint"),
    [
        ('{"partitions":[{"topic":"t","partition":0,"replicas":[9]}]}', "Error: Unknown broker id 9\n"),
        ('{"partitions":[{"topic":"u","partition":0,"replicas":[1]}]}', "Error: Topic u not found.\n"),
        ("{}", "Error: Partition reassignment list cannot be empty\n"),
    ],
)
def test_execute_refuses(run: Any, file: str, complaint: str) -> None:
    assert run(Admin(), "--execute", *WITH_FILE, file=file) == (1, complaint)


def test_verify_knows_three_answers(run: Any) -> None:
    file = (
        '{"partitions":[{"topic":"t","partition":0,"replicas":[3,2]},{"topic":"t","partition":1,"replicas":[1,2]},'
        '{"topic":"u","partition":0,"replicas":[1]}]}'
    )
    assert run(Admin(running={T0: MOVING}), "--verify", *WITH_FILE, file=file) == (
        0,
        (
            "Status of partition reassignment:\n"
            "Reassignment of partition t-0 is still in progress.\n"
            "Reassignment of partition t-1 is complete.\n"
            "There is no active reassignment of partition u-0, but replica set is  rather than 1.\n\n"
        ),
    )


def test_cancel_takes_back_what_runs_of_the_file(run: Any) -> None:
    admin = Admin(running={T0: MOVING, T1: MOVING})
    moves = "None of the specified partition moves are active.\n"
    assert run(admin, "--cancel", *WITH_FILE) == (
        0,
        f"Successfully cancelled partition reassignment for: t-0\n{moves}",
    )
    assert admin.asked == [{T0: None}]
    assert run(Admin(), "--cancel", *WITH_FILE) == (
        0,
        f"None of the specified partition reassignments are active.\n{moves}",
    )
    admin.errors[T0] = errors.NoReassignmentInProgressError
    assert run(admin, "--cancel", *WITH_FILE) == (
        1,
        "Error cancelling partition reassignment for:\nt-0: No partition reassignment is in progress.\n",
    )


def test_list_has_kafkas_layout(run: Any) -> None:
    assert run(Admin(), "--list") == (0, "No partition reassignments found.\n")
    shrinking = {"replicas": [1, 2], "adding_replicas": [], "removing_replicas": [2]}
    assert run(Admin(running={T1: shrinking, T0: MOVING}), "--list") == (
        0,
        (
            "Current partition reassignments:\n"
            "t-0: replicas: 3,1,2. adding: 3. removing: 1.\n"
            "t-1: replicas: 1,2. removing: 2.\n"
        ),
    )


def test_generate_proposes_and_carries_nothing_out(run: Any) -> None:
    admin = Admin()
    code, out = run(
        admin,
        *("--generate", "--topics-to-move-json-file", "FILE", "--broker-list", "3,4"),
        file='{"topics":[{"topic":"t"}],"version":1}',
    )
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "Current partition replica assignment"
    assert lines[2:4] == ["", "Proposed partition reassignment configuration"]
    moves = tool.parse_moves(lines[4])
    assert {frozenset(replicas) for replicas in moves.values()} == {frozenset({3, 4})}
    assert admin.asked == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--execute"], 'Missing required argument "[reassignment-json-file]"'),
        (["--generate", "--broker-list", "1"], 'Missing required argument "[topics-to-move-json-file]"'),
        (["--list", "--additional"], 'Option "[additional]" can\'t be used with action "[list]"'),
        (
            ["--verify", *WITH_FILE, "--timeout", "5"],
            'Option "[timeout]" can\'t be used with action "[verify]"',
        ),
        (["--execute", *WITH_FILE, "--throttle", "500"], "--throttle 500 cannot be kept: replication is not"),
    ],
)
def test_flags_that_do_not_fit(arguments: list[str], complaint: str) -> None:
    flags = tool.parser().parse_args(["--bootstrap-server", "h:1", *arguments])
    with pytest.raises(tool.ReassignCommandError) as refused:
        tool.check(flags)
    assert complaint in str(refused.value)


@pytest.mark.parametrize("arguments", [["--list"], ["--bootstrap-server", "h:1"], ["--list", "--verify"]])
def test_one_action_and_a_server_are_required(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        tool.parser().parse_args(arguments)
    assert "usage: kafka-reassign-partitions.sh" in capsys.readouterr().err


def test_every_action_has_its_arguments_and_its_deed() -> None:
    flags = argparse.Namespace(action="list", bootstrap_server="h:1")
    tool.check(flags)
    assert set(tool.ACTIONS) == {"verify", "generate", "execute", "cancel", "list"}


def test_a_file_that_is_not_there_is_named(run: Any) -> None:
    assert run(Admin(), "--verify", "--reassignment-json-file", "/nowhere.json") == (
        1,
        "Error: /nowhere.json cannot be read: No such file or directory\n",
    )


def test_a_server_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise errors.KafkaError("nobody")

    monkeypatch.setattr(tool, "KafkaAdminClient", refuse)
    with pytest.raises(
        tool.ReassignCommandError, match="No broker answered at --bootstrap-server h:1 within 10"
    ):
        tool.connect("h:1", {})


def test_the_controller_is_looked_for_again_while_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[Any] = [
        RuntimeError("Failed to find active controller id!"),
        errors.NotControllerError(),
        {},
    ]

    def answer(**_: object) -> Any:
        told = answers.pop(0)
        if isinstance(told, Exception):
            raise told
        return told

    admin = Admin()
    monkeypatch.setattr(admin, "list_partition_reassignments", answer)
    monkeypatch.setattr(tool, "RETRY_S", 0)
    assert tool.Cluster(admin).running() == {}
    answers.append(errors.ClusterAuthorizationFailedError("no"))
    with pytest.raises(tool.ReassignCommandError, match="no"):
        tool.Cluster(admin).running()
    monkeypatch.setattr(tool, "DEADLINE_MS", -1)
    answers.append(errors.NotControllerError("late"))
    with pytest.raises(tool.ReassignCommandError, match="late"):
        tool.Cluster(admin).running()
