"""What the commands print about a running cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas import commands
from barnabas.commands import Tail, print_logs, rendered
from barnabas.local.control import BrokerState, BrokerStatus, ClusterStatus


def broker(number: int, state: BrokerState, pid: int | None, *, controller: bool = False) -> BrokerStatus:
    return BrokerStatus(number, state, pid, f"127.0.0.1:909{number}", "m:1", "/d", controller)


def test_the_status_has_a_line_for_each_process() -> None:
    status = ClusterStatus(
        70,
        "127.0.0.1:12092",
        71,
        (broker(1, BrokerState.RUNNING, 72, controller=True), broker(2, BrokerState.KILLED, None)),
        page="http://127.0.0.1:8080/",
    )
    assert rendered(status).splitlines() == [
        "ZooKeeper  127.0.0.1:12092  process 71",
        "broker 1   127.0.0.1:9091   running, process 72, controller",
        "broker 2   127.0.0.1:9092   killed",
        "bootstrap servers 127.0.0.1:9091,127.0.0.1:9092",
        "watch it on http://127.0.0.1:8080/",
    ]


def log(directory: Path, number: int, text: str) -> Path:
    path = directory / f"broker-{number}" / "logs" / "server.log"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def test_the_last_lines_of_all_brokers_are_prefixed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (10, 2):
        log(tmp_path, number, f"a\nb\nc{number}\nincomplete")
    assert print_logs(tmp_path, None, "server", 2, follow=False) == 0
    assert capsys.readouterr().out.splitlines() == [
        "broker-2 | b",
        "broker-2 | c2",
        "broker-10 | b",
        "broker-10 | c10",
    ]


def test_the_lines_of_one_broker_have_no_prefix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log(tmp_path, 1, "a\n")
    assert print_logs(tmp_path, 1, "server", 20, follow=False) == 0
    assert capsys.readouterr().out == "a\n"


def test_a_log_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert print_logs(tmp_path, 9, "server", 20, follow=False) == 1
    assert capsys.readouterr().err == f"barnabas: there is no {tmp_path}/broker-9/logs/server.log\n"
    log(tmp_path, 9, "a\n")
    assert print_logs(tmp_path, 9, "sever", 20, follow=False) == 1
    said = f"barnabas: there is no {tmp_path}/broker-9/logs/sever.log: expected one of server\n"
    assert capsys.readouterr().err == said


def test_what_is_added_follows_also_after_a_roll(tmp_path: Path) -> None:
    path = log(tmp_path, 1, "a\nb\nc")
    tail = Tail(path, "")
    assert tail.last(1) == ["b"]
    path.write_text("a\nb\ncd\ne\n")
    assert tail.added() == ["cd", "e"]
    path.unlink()
    assert tail.added() == []
    path.write_text("f\n")
    assert tail.added() == ["f"]


def test_the_last_lines_of_a_long_log_come_from_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "_LAST_BYTES", 6)
    assert Tail(log(tmp_path, 1, "aaa\nbbb\nccc\n"), "").last(9) == ["ccc"]
