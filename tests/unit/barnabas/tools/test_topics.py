"""kafka-topics.sh: its flags, its layout and its complaints; the cluster is asked in tests/integration."""

from __future__ import annotations

import pytest

from barnabas.tools import topics


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
