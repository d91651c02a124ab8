"""kafka-leader-election.sh: flags, output and complaints; the cluster is asked in tests/integration."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Self

import pytest

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools import leader_election
from barnabas.tools.clients.admin_client import AdminError, Answer, NotSupported
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.leader_election import ElectionType, Failure

FAILED = "Error completing leader election (PREFERRED) for partition: "
SERVER = ["--bootstrap-server", "127.0.0.1:1", "--election-type", "preferred"]


def chosen(*arguments: str) -> list[tuple[str, int]] | None:
    flags = leader_election.OPTIONS.parse([*SERVER, *arguments])
    leader_election.check(flags)
    return leader_election.chosen_partitions(flags)


def test_one_partition_or_all() -> None:
    assert chosen("--topic", "orders", "--partition", "3") == [("orders", 3)]
    assert chosen("--all-topic-partitions") is None


def test_the_partitions_of_a_file(tmp_path) -> None:
    path = tmp_path / "partitions.json"
    path.write_text('{"partitions": [{"topic": "foo", "partition": 1}, {"topic": "foobar", "partition": 2}]}')
    assert chosen("--path-to-json-file", str(path)) == [("foo", 1), ("foobar", 2)]


@pytest.mark.parametrize(
    "arguments",
    [
        SERVER,
        [*SERVER, "--topic", "t", "--partition", "0", "--all-topic-partitions"],
        [*SERVER, "--topic", "t"],
        [*SERVER, "--all-topic-partitions", "--partition", "1"],
        ["--all-topic-partitions"],
        [*SERVER[:2], "--all-topic-partitions"],
        [*SERVER[:3], "fair", "--all-topic-partitions"],
    ],
)
def test_flags_that_do_not_fit_together(arguments) -> None:
    assert leader_election.main(arguments) == 1


@pytest.mark.parametrize("kind", ["Preferred", "UNCLEAN"])
def test_the_type_is_taken_in_any_case(kind) -> None:
    flags = leader_election.OPTIONS.parse([*SERVER[:3], kind, "--all-topic-partitions"])
    assert flags.election_type == kind.upper()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{}", "is empty"),
        (
            '{"partitions": [{"topic": "t", "partition": 0}, {"topic": "t", "partition": 0}]}',
            "duplicate.* t-0",
        ),
    ],
)
def test_a_file_that_names_no_partitions(text, complaint) -> None:
    with pytest.raises(ToolError, match=complaint):
        leader_election.parse_partitions(text)


def test_the_report_has_kafkas_lines() -> None:
    results = {
        TopicPartition("orders", 10): None,
        TopicPartition("orders", 2): None,
        TopicPartition("audit", 0): Failure(ErrorCode.ELECTION_NOT_NEEDED, "needless"),
        TopicPartition("audit", 1): Failure(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "it is away"),
        TopicPartition("audit", 2): Failure(ErrorCode.POLICY_VIOLATION, "no"),
    }
    assert leader_election.report(ElectionType.PREFERRED, results) == [
        "Successfully completed leader election (PREFERRED) for partitions orders-2, orders-10",
        "Valid replica already elected for partitions audit-0",
        f"{FAILED}audit-1: org.apache.kafka.common.errors.PreferredLeaderNotAvailableException: it is away",
        f"{FAILED}audit-2: org.apache.kafka.common.errors.PolicyViolationException: no",
    ]
    assert list(leader_election.failures(results)) == [("audit", 1), ("audit", 2)]


class Admin:
    """A cluster that elects, or does not."""

    def __init__(self, *results: tuple[int, ErrorCode, str | None], error: int | Exception = 0) -> None:
        self.results = [
            SimpleNamespace(partition_id=number, error_code=code, error_message=text)
            for number, code, text in results
        ]
        self.error = error
        self.asked: Any = None

    def __call__(self, servers: str, settings: Any) -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def ask_controller(self, request: Any) -> Answer:
        if isinstance(self.error, Exception):
            raise self.error
        self.asked = (request.election_type, request.topic_partitions)
        topic = SimpleNamespace(topic="t", partition_result=self.results)
        return Answer(SimpleNamespace(error_code=self.error, replica_election_results=[topic]))


def test_the_controller_elects(capsys, monkeypatch) -> None:
    admin = Admin((0, ErrorCode.NONE, None), (1, ErrorCode.ELECTION_NOT_NEEDED, None))
    monkeypatch.setattr(leader_election, "AdminClient", admin)
    assert leader_election.main([*SERVER, "--topic", "t", "--partition", "1"]) == 0
    assert admin.asked == (0, [("t", [1])])
    assert leader_election.main([*SERVER, "--all-topic-partitions"]) == 0
    assert admin.asked == (0, None)
    told = "Successfully completed leader election (PREFERRED) for partitions t-0\n"
    assert capsys.readouterr().out == 2 * f"{told}Valid replica already elected for partitions t-1\n"


LATE = "Timeout waiting for election results"
NOT_ALLOWED = "Not authorized to perform leader election"
FAILED_REQUEST = "org.apache.kafka.common.errors"


@pytest.mark.parametrize(
    ("error", "out", "err"),
    [
        (AdminError("nobody"), LATE, f"{LATE}\nCaused by: nobody\n"),
        (int(ErrorCode.REQUEST_TIMED_OUT), LATE, f"{LATE}\nCaused by: "),
        (
            int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
            NOT_ALLOWED,
            f"{NOT_ALLOWED}\nCaused",
        ),
        (NotSupported("too old"), "", "too old\n"),
        (int(ErrorCode.UNKNOWN_SERVER_ERROR), "", f"{FAILED_REQUEST}.UnknownServerException: the server"),
    ],
)
def test_a_request_that_fails_as_a_whole(error, out, err, capsys, monkeypatch) -> None:
    monkeypatch.setattr(leader_election, "AdminClient", Admin(error=error))
    assert leader_election.main([*SERVER, "--all-topic-partitions"]) == 1
    printed = capsys.readouterr()
    assert printed.out == (f"{out}\n" if out else "")
    assert printed.err.startswith(f"kafka-leader-election.sh: {err}")


def test_a_file_of_properties_that_cannot_be_read_is_named(capsys) -> None:
    assert leader_election.main([*SERVER, "--all-topic-partitions", "--admin.config", "/gone"]) == 1
    assert "--admin.config /gone cannot be read" in capsys.readouterr().err
