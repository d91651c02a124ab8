"""kafka-reassign-partitions.sh: flags, words and exit codes; the cluster is asked in tests/integration."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest
from kafka.protocol.admin import DescribeLogDirsRequest, ListPartitionReassignmentsRequest

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.clients.admin_client import AdminError, Answer, PartitionMetadata, TopicMetadata
from barnabas.tools.clients.refusals import Refusal
from barnabas.tools.reassignment import reassign_partitions as tool
from barnabas.tools.reassignment.reassignment_files import parse_moves

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
TO_3_4 = '{"partitions":[{"topic":"t","partition":0,"replicas":[3,4]}]}'
MOVING = {"replicas": [3, 1, 2], "adding_replicas": [3], "removing_replicas": [1]}


class Admin:
    """What the cluster would answer."""

    def __init__(self, *, running: dict[TopicPartition, Any] | None = None) -> None:
        self.running = running or {}
        self.asked: list[dict[Any, Any]] = []
        self.errors: dict[Any, tuple[ErrorCode, str | None]] = {}
        self.refusal: tuple[ErrorCode, str | None] = (ErrorCode.NONE, None)
        self.settings: list[tuple[str, list[Any]]] = []
        self.placed: dict[int, dict[str, tuple[list[int], list[int]]]] = {}
        self.refused: list[ErrorCode] = []
        self.moved: list[tuple[int, Any]] = []

    def ask_broker(self, request: Any, broker: int) -> Any:
        """The partitions of ``t`` in each directory, current and future ones; or the answer to a move."""
        if isinstance(request, DescribeLogDirsRequest):
            return SimpleNamespace(
                results=[
                    SimpleNamespace(
                        log_dir=path,
                        topics=[
                            SimpleNamespace(
                                name="t",
                                partitions=[
                                    SimpleNamespace(partition_index=number, is_future_key=is_future)
                                    for is_future, numbers in enumerate(each)
                                    for number in numbers
                                ],
                            )
                        ],
                    )
                    for path, each in self.placed.get(broker, {}).items()
                ]
            )
        asked = [(path, topics) for path, topics in request.dirs]
        self.moved.append((broker, asked))
        error = self.refused.pop(0) if self.refused else ErrorCode.NONE
        return SimpleNamespace(
            results=[
                SimpleNamespace(
                    topic_name=topic,
                    partitions=[SimpleNamespace(partition_index=n, error_code=error) for n in numbers],
                )
                for _, topics in asked
                for topic, numbers in topics
            ]
        )

    def alter_incrementally(self, resource: Any, steps: Any) -> None:
        self.settings.append((resource.name, [step.value for step in steps]))
        if resource.name == "u":
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "Topic 'u' does not exist.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def ask_controller(self, request: Any, deadline_ms: int = 0) -> Answer:
        code, message = self.refusal
        wanted = {} if isinstance(request, ListPartitionReassignmentsRequest) else self._targets(request)
        if wanted:
            self.asked.append(wanted)
        running = [(tp, told) for tp, told in self.running.items()]
        return Answer(
            SimpleNamespace(
                error_code=code,
                error_message=message,
                topics=[
                    SimpleNamespace(
                        name=tp.topic, partitions=[SimpleNamespace(partition_index=tp.partition, **told)]
                    )
                    for tp, told in running
                ],
                responses=[SimpleNamespace(name=tp.topic, partitions=[self._result(tp)]) for tp in wanted],
            )
        )

    def _targets(self, request: Any) -> dict[TopicPartition, Any]:
        return {
            TopicPartition(topic, partition): replicas
            for topic, partitions in request.topics
            for partition, replicas in partitions
        }

    def _result(self, tp: TopicPartition) -> Any:
        code, message = self.errors.get(tp, (ErrorCode.NONE, None))
        return SimpleNamespace(partition_index=tp.partition, error_code=code, error_message=message)

    def racks(self) -> dict[int, str | None]:
        return dict.fromkeys((1, 2, 3, 4))

    def topics(self) -> dict[str, TopicMetadata]:
        return {"t": TopicMetadata("t", {n: PartitionMetadata(n, 1, (1, 2), (1, 2)) for n in (0, 1)})}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    path = tmp_path / "file.json"

    def run_it(admin: Admin, *arguments: str, file: str = TO_3_4, err: str = "") -> tuple[int, str]:
        path.write_text(file)
        monkeypatch.setattr(tool, "AdminClient", lambda servers, settings: admin)
        monkeypatch.setattr(tool, "ConfigClient", lambda client: client)
        words = [str(path) if word == "FILE" else word for word in arguments]
        code = tool.main(["--bootstrap-server", "h:1", *words])
        printed = capsys.readouterr()
        assert printed.err == err
        return code, printed.out

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
    admin.errors[T0] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist."
    code, out = run(admin, "--execute", *WITH_FILE)
    assert code == 1
    assert "Error reassigning partition(s):\nt-0: The partition does not exist.\n" in out


UNKNOWN_BROKER = (
    "Error: Unknown broker id 9 among the replicas of t-0: it is dead or does not exist; expected live "
    "brokers: 1,2,3,4\n"
)


@pytest.mark.parametrize(
    ("file", "complaint"),
    [
        ('{"partitions":[{"topic":"t","partition":0,"replicas":[9]}]}', UNKNOWN_BROKER),
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


BROKERS, TOPICS = (
    "Clearing broker-level throttles on brokers 1,2,3,4\n",
    "Clearing topic-level throttles on topic t\n",
)
CLEARED = [*((str(id_), ["", "", ""]) for id_ in (1, 2, 3, 4)), ("t", ["", ""])]


def test_verify_removes_throttles_when_nothing_moves_any_more(run: Any) -> None:
    file = '{"partitions":[{"topic":"t","partition":1,"replicas":[1,2]}]}'
    status = "Status of partition reassignment:\nReassignment of partition t-1 is complete.\n\n"
    admin = Admin()
    assert run(admin, "--verify", *WITH_FILE, file=file) == (0, f"{status}{BROKERS}{TOPICS}")
    assert admin.settings == CLEARED
    admin = Admin()
    assert run(admin, "--verify", "--preserve-throttles", *WITH_FILE, file=file) == (0, status)
    assert run(Admin(running={T0: MOVING}), "--verify", *WITH_FILE, file=file) == (0, status)
    assert admin.settings == []


def test_verify_takes_a_file_of_nothing(run: Any) -> None:
    status = "Status of partition reassignment:\n\n"
    assert run(Admin(), "--verify", *WITH_FILE, file="{}") == (
        0,
        f"{status}{BROKERS}Clearing topic-level throttles on topics \n",
    )


def test_a_throttle_that_cannot_be_removed_is_an_error_after_what_was_done(run: Any) -> None:
    file = '{"partitions":[{"topic":"u","partition":0,"replicas":[1]}]}'
    code, out = run(Admin(), "--verify", *WITH_FILE, file=file)
    assert (code, out.splitlines()[-3:]) == (
        1,
        [
            BROKERS.strip(),
            "Clearing topic-level throttles on topic u",
            (
                "Error: org.apache.kafka.common.errors.UnknownTopicOrPartitionException: "
                "Topic 'u' does not exist."
            ),
        ],
    )


def test_a_throttle_is_set_before_anything_moves(run: Any) -> None:
    admin = Admin()
    throttled = ("--throttle", "500", "--replica-alter-log-dirs-throttle", "7")
    code, out = run(admin, "--execute", *throttled, *WITH_FILE)
    assert (code, out.splitlines()[5:]) == (
        0,
        [
            (
                "Warning: You must run --verify periodically, until the reassignment completes, to ensure "
                "the throttle is removed."
            ),
            "The inter-broker throttle limit was set to 500 B/s",
            "The replica-alter-dir throttle limit was set to 7 B/s",
            "Successfully started partition reassignment for t-0",
        ],
    )
    assert admin.settings == [
        ("t", ["0:1,0:2", "0:3,0:4"]),
        *((str(id_), ["500", "500"]) for id_ in (1, 2, 3, 4)),
    ]


def test_a_partition_that_is_not_there_cannot_be_throttled(run: Any) -> None:
    file = '{"partitions":[{"topic":"t","partition":9,"replicas":[3]}]}'
    code, out = run(Admin(), "--execute", "--throttle", "5", *WITH_FILE, file=file)
    assert (code, out.splitlines()[-1]) == (
        1,
        "Error: Trying to reassign a topic partition t-9 with 0 replicas",
    )


@pytest.mark.parametrize("action", ["--cancel", "--verify"])
def test_a_named_broker_that_is_dead_keeps_nobody_from_success(
    run: Any, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    admin = Admin()
    monkeypatch.setattr(admin, "racks", lambda: dict.fromkeys((1, 2, 4)))
    err = (
        "Warning: broker-level throttles of dead broker 3 were not removed; live brokers: 1,2,4. "
        "If throttles were set, run --verify again when all brokers are live\n"
    )
    code, out = run(admin, action, *WITH_FILE, err=err)
    assert code == 0
    assert "Clearing broker-level throttles on brokers 1,2,4\n" in out
    assert [name for name, _ in admin.settings] == ["1", "2", "4", "t"]


IN_DIRS = '{"partitions":[{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["/b","any"]}]}'


def test_execute_begins_moves_between_log_directories_once_the_replica_is_there(run: Any) -> None:
    admin = Admin()
    admin.refused = [ErrorCode.REPLICA_NOT_AVAILABLE]
    throttle = ("--replica-alter-log-dirs-throttle", "7")
    code, out = run(admin, "--execute", *throttle, *WITH_FILE, file=IN_DIRS)
    assert (code, out.splitlines()[-2:]) == (
        0,
        [
            "Successfully started partition reassignment for t-0",
            "Successfully started log directory move for: t-0-1",
        ],
    )
    assert admin.moved == [(1, [("/b", [("t", [0])])])] * 2
    assert admin.settings == [("1", ["7"])]


def test_execute_tells_which_replica_cannot_move(run: Any) -> None:
    admin = Admin()
    admin.refused = [ErrorCode.LOG_DIR_NOT_FOUND]
    code, out = run(admin, "--execute", *WITH_FILE, file=IN_DIRS)
    meaning = ErrorCode.LOG_DIR_NOT_FOUND.meaning
    assert (code, out.splitlines()[-1]) == (1, f"Error: Failed to alter dir for t-0-1: {meaning}")
    admin.refused = [ErrorCode.REPLICA_NOT_AVAILABLE]
    code, out = run(admin, "--execute", "--timeout", "0", *WITH_FILE, file=IN_DIRS)
    timed_out = "Timed out before log directory move could be started for: t-0-1"
    assert (code, out.splitlines()[-1]) == (1, timed_out)


def test_verify_leaves_the_throttles_while_a_replica_moves(run: Any) -> None:
    admin = Admin()
    admin.placed = {1: {"/a": ([0], []), "/b": ([], [0])}}
    code, out = run(admin, "--verify", *WITH_FILE, file=IN_DIRS)
    assert (code, out.splitlines()[2]) == (0, "Reassignment of replica t-0-1 is still in progress.")
    assert admin.settings == []


def test_cancel_moves_replicas_back(run: Any) -> None:
    admin = Admin()
    admin.placed = {1: {"/a": ([0], []), "/b": ([], [0])}}
    code, out = run(admin, "--cancel", "--preserve-throttles", *WITH_FILE, file=IN_DIRS)
    assert (code, out.splitlines()[-1]) == (0, "Successfully started log directory move for: t-0-1")
    assert admin.moved == [(1, [("/a", [("t", [0])])])]


def test_cancel_takes_back_what_runs_of_the_file(run: Any) -> None:
    admin = Admin(running={T0: MOVING, T1: MOVING})
    moves = "None of the specified partition moves are active.\n"
    assert run(admin, "--cancel", *WITH_FILE) == (
        0,
        f"Successfully cancelled partition reassignment for: t-0\n{moves}{BROKERS}{TOPICS}",
    )
    assert admin.asked == [{T0: None}]
    assert admin.settings == CLEARED
    assert run(Admin(), "--cancel", "--preserve-throttles", *WITH_FILE) == (
        0,
        f"None of the specified partition reassignments are active.\n{moves}",
    )
    admin.errors[T0] = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, None
    assert run(admin, "--cancel", *WITH_FILE) == (
        1,
        (
            "Error cancelling partition reassignment for:\n"
            f"t-0: {ErrorCode.NO_REASSIGNMENT_IN_PROGRESS.meaning}\n"
        ),
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
    moves = parse_moves(lines[4])
    assert {frozenset(replicas) for replicas in moves.values()} == {frozenset({3, 4})}
    assert admin.asked == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["--execute"],
        ["--execute", "--throttle", "1k", *WITH_FILE],
        ["--generate", "--broker-list", "1"],
        ["--list", "--additional"],
        ["--list", "--verify"],
        ["--verify", *WITH_FILE, "--timeout", "5"],
        ["--list", "--zookeeper", "z"],
        [],
    ],
)
def test_options_that_do_not_fit(arguments: list[str]) -> None:
    assert tool.main(["--bootstrap-server", "h:1", *arguments]) == 1


def test_a_server_is_required() -> None:
    assert tool.main(["--list"]) == 1


def test_zookeeper_is_looked_past(run: Any) -> None:
    code, out = run(Admin(), "--verify", "--zookeeper", "z", *WITH_FILE)
    assert (code, out.splitlines()[0]) == (
        0,
        (
            "Warning: ignoring deprecated --zookeeper option because --bootstrap-server was specified.  The "
            "--zookeeper option will be removed in a future version of Kafka."
        ),
    )


def test_a_file_that_is_not_there_is_named(run: Any) -> None:
    code, out = run(Admin(), "--verify", "--reassignment-json-file", "/nowhere.json")
    assert (code, out.startswith("Error: /nowhere.json cannot be read: ")) == (1, True)


def test_a_cluster_that_refuses_the_whole_request_is_quoted(run: Any) -> None:
    admin = Admin()
    admin.refusal = ErrorCode.REQUEST_TIMED_OUT, "The controller did not carry it out."
    assert run(admin, "--list") == (1, "Error: The controller did not carry it out.\n")


def test_a_cluster_that_does_not_answer_is_an_error(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Any:
        raise AdminError("no controller")

    admin = Admin()
    monkeypatch.setattr(admin, "ask_controller", fail)
    assert run(admin, "--list") == (1, "Error: no controller\n")
