"""kafka-topics.sh: its flags, its layout and its complaints; the cluster is asked in tests/integration."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kafka.errors
import pytest

from barnabas.tools import reassign_partitions, topics
from barnabas.tools.topic_descriptions import Reassignment
from barnabas.tools.topic_flags import TopicCommandError, parser
from cluster.model.ids import TopicPartition

FLAGS = parser().parse_args(["--bootstrap-server", "h:1", "--describe"])


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Sets what the cluster says of running reassignments, or what goes wrong."""

    def answer(with_: Any) -> None:
        class Asked:
            def running(self) -> Any:
                if isinstance(with_, Exception):
                    raise with_
                return with_

        monkeypatch.setattr(reassign_partitions, "opened", lambda flags: contextlib.nullcontext(Asked()))

    return answer


def test_running_reassignments_are_known_by_topic_and_partition(running: Callable[[Any], None]) -> None:
    told = {"replicas": [3, 1, 2], "adding_replicas": [3], "removing_replicas": [2]}
    running({TopicPartition("t", 1): told})
    assert topics.reassignments(FLAGS) == {("t", 1): Reassignment([3, 1, 2], [3], [2])}


def test_brokers_too_old_to_say_have_none_and_other_errors_are_reported(
    running: Callable[[Any], None],
) -> None:
    running(kafka.errors.IncompatibleBrokerVersion("no such API"))
    assert topics.reassignments(FLAGS) == {}
    running(kafka.errors.KafkaTimeoutError("too late"))
    with pytest.raises(TopicCommandError, match="too late"):
        topics.reassignments(FLAGS)


@pytest.mark.parametrize(
    "arguments",
    [[], ["--list"], ["--bootstrap-server", "h:1"], ["--bootstrap-server", "h:1", "--list", "--create"]],
)
def test_one_action_and_a_server_are_required(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        topics.main(arguments)
    assert exit_.value.code == 2
    assert "usage: kafka-topics.sh" in capsys.readouterr().err


def test_create_wants_a_topic(capsys: pytest.CaptureFixture[str]) -> None:
    assert topics.main(["--bootstrap-server", "127.0.0.1:1", "--create"]) == 1
    assert 'Missing required argument "[topic]"' in capsys.readouterr().out


@pytest.mark.parametrize(
    "action",
    [["--list"], ["--describe"], ["--create", "--topic", "orders"], ["--delete", "--topic", "orders"]],
)
def test_a_server_that_cannot_be_reached_is_named_in_one_line(
    action: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topics, "REACH_S", 0.1)
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
