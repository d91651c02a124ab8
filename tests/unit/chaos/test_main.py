import contextlib
import json
import struct
import time
import zlib

import pytest

from barnabas.chaos import __main__ as module
from barnabas.chaos.chaos import Findings
from barnabas.chaos.checker.epochs import Epochs
from barnabas.chaos.nemeses.schedule import BY_NAME, KINDS
from barnabas.chaos.targets.targets import Targets
from barnabas.chaos.workload.traffic import TOPICS
from barnabas.cluster.model.ids import TopicPartition
from barnabas.local.errors import ClusterError
from barnabas.workload.history import Acked, History, Read, Sent, Tail

TP = TopicPartition("ledger", 0)
LASTING = [TopicPartition(topic, n) for topic, (count, _) in TOPICS.items() for n in range(count)]
CUT, KILL = (BY_NAME["cut-off"],), (BY_NAME["kill-any"],)


def test_the_flags_have_defaults():
    flags = module.parser().parse_args([])
    assert (flags.minutes, flags.seed, flags.only, flags.keep) == (8.0, None, KINDS, False)


def test_nemeses_are_chosen_by_name(capsys):
    assert module.parser().parse_args(["--only", "cut-off,kill-any"]).only == (*CUT, *KILL)
    with pytest.raises(SystemExit):
        module.parser().parse_args(["--only", "meteorite"])
    assert "no nemesis meteorite; there are kill-any" in capsys.readouterr().err


@pytest.mark.parametrize("minutes", ["0", "-1", "nan", "inf", "soon"])
def test_minutes_are_more_than_none(capsys, minutes):
    with pytest.raises(SystemExit):
        module.parser().parse_args([f"--minutes={minutes}"])
    assert f"'{minutes}' is not a number of minutes above 0" in capsys.readouterr().err


def history(*, lost=False):
    found = History(time.monotonic)
    for tp in LASTING:
        found.add(Sent(0.0, "p", tp, f"to {tp}"))
        found.add(Acked(1.0, "p", tp, f"to {tp}", 0))
        if tp != TP or not lost:
            found.add(Read(2.0, "r", tp, 0, f"to {tp}"))
        found.add(Tail(3.0, "r", tp, 1, 1))
    return found


@pytest.fixture
def clean_epochs(monkeypatch):
    monkeypatch.setattr(module, "epochs_of", lambda cluster: Epochs(1, 14, 15, ()))


def test_a_run_with_cuts_among_its_nemeses_must_have_made_one(tmp_path, clean_epochs):
    no_cut = "no real cut of the network was made"
    assert module.judge(tmp_path, history(), Findings(steps=1), CUT).problems == (no_cut,)
    assert module.judge(tmp_path, history(), Findings(steps=1, cuts=1), CUT).problems == ()
    assert module.judge(tmp_path, history(), Findings(steps=1), KILL).problems == ()


def test_a_run_that_tried_nothing_has_not_passed(tmp_path, clean_epochs):
    (said,) = module.judge(tmp_path, history(), Findings(), KILL).problems
    assert said == "no fault was tried and recovered from"


def test_a_run_that_left_nothing_has_not_passed(tmp_path):
    problems = module.judge(tmp_path, History(time.monotonic), Findings(steps=1), KILL).problems
    assert problems[0] == "nothing was acknowledged, which proves nothing"
    assert problems[1] == "no write to journal-0 was acknowledged"
    assert "epochs: ZooKeeper's history has no election of a controller, which proves nothing" in problems


def record(data):
    """One transaction: /controller_epoch is set by nobody who was elected."""
    path = b"/controller_epoch"
    body = struct.pack(">qiqqi", 1, 1, 1, 1, 5)
    body += struct.pack(">i", len(path)) + path + struct.pack(">i", len(data)) + data + struct.pack(">i", 1)
    return struct.pack(">qi", zlib.adler32(body), len(body)) + body + b"B"


def zookeepers(directory, *contents):
    for number, content in enumerate(contents, start=1):
        logs = directory / f"zookeeper-{number}" / "datalog" / "version-2"
        logs.mkdir(parents=True)
        (logs / "log.1").write_bytes(struct.pack(">4siq", b"ZKLG", 2, 0) + content)


def test_epochs_are_read_from_the_cluster_s_directory(tmp_path):
    zookeepers(tmp_path, record(b"3"), b"", record(b"3"))
    for broker, log in (
        (2, "state-change.log"),
        (2, "state-change.log.2026-11-21-20"),
        (3, "state-change.log"),
    ):
        logs = tmp_path / f"broker-{broker}" / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        epoch = len(log)
        told = f"[t] INFO [Controller id=2 epoch={epoch}] Sending (state.change.logger)\n"
        (logs / log).write_text(told if broker == 2 else "")
    problems = module.epochs_of(tmp_path).problems
    assert any("controller epoch 0 was followed by 3" in problem for problem in problems)
    assert any("in broker 2's log controller 2 acts in epoch 16" in problem for problem in problems)
    assert any("in broker 2's log controller 2 acts in epoch 30" in problem for problem in problems)
    silent = [problem for problem in problems if problem.endswith("'s logs are empty")]
    assert [said.partition("'")[0] for said in silent] == ["broker-1", "broker-3", "zookeeper-2"]


def test_zookeepers_that_disagree_are_a_problem_and_no_end_of_the_judgement(tmp_path):
    zookeepers(tmp_path, record(b"3"), record(b"4"), record(b"3"))
    (said,) = module.epochs_of(tmp_path).problems
    assert said.startswith("the transaction logs cannot be read: zxid 0x1 is")


@pytest.fixture
def run(monkeypatch, tmp_path, clean_epochs):
    """A run in which nothing is real but the judgement; its history may lack a record."""

    def run(*arguments, lost=False, raising=None):
        @contextlib.contextmanager
        def targets_in(flags, directory):
            directory.mkdir(parents=True)

            yield Targets(None, None, None)

        def striking(targets, noted, kinds, seed, flags):
            for op in history(lost=lost).ops():
                noted.add(op)
            if raising is not None:
                raise raising
            return Findings(cuts=1, steps=1, notes=[f"seed {seed}, {flags.minutes:g} m"])

        monkeypatch.setattr(module, "_targets", targets_in)
        monkeypatch.setattr(module, "why_not", lambda: None)
        monkeypatch.setattr(module.power, "why_not", lambda: None)
        monkeypatch.setattr(module, "remove_leftovers", lambda: None)
        monkeypatch.setattr(module, "_run", striking)
        monkeypatch.setattr(module, "analyze", lambda directory: (directory / "report").mkdir())
        monkeypatch.setattr(module.signal, "signal", lambda *_: None)
        return module.main(["--dir", str(tmp_path / "chaos"), *arguments])

    return run


def test_a_run_that_passed_says_its_seed_and_leaves_nothing(run, capsys, tmp_path):
    assert run("--seed", "42", "--minutes", "2") == 0
    told = capsys.readouterr().out
    assert told.startswith("chaos: 2 minutes, SEED=42\n")
    assert "seed 42, 2 m" in told
    (figures,) = (tmp_path / "chaos").iterdir()
    assert told.endswith(f"chaos: passed, 1 steps, 1 real network cuts, SEED=42; {figures}\n")
    kept = json.loads(figures.read_text())
    assert (kept["seed"], kept["minutes"], kept["steps"], kept["cuts"]) == (42, 2.0, 1, 1)
    assert (kept["records"]["acknowledged"], kept["records"]["lost"], kept["problems"]) == (14, 0, [])


def test_a_run_that_failed_is_kept_whole(run, capsys, tmp_path):
    assert run("--seed", "42", lost=True) == 1
    kept = tmp_path / "chaos" / "42"
    assert {path.name for path in kept.iterdir()} == {"history.jsonl", "summary.txt", "report"}
    assert "lost: 1, first Write" in (kept / "summary.txt").read_text()
    assert "FAILED with SEED=42" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KeyboardInterrupt(), (130, "interrupted with SEED=42; the files so far are in")),
        (ClusterError("broker 1 hangs"), (2, "the run failed to start or to continue: broker 1 hangs")),
        (OSError("no space left"), (2, "the run failed to start or to continue: no space left")),
    ],
)
def test_a_run_that_comes_to_no_judgement_says_so_and_keeps_what_it_has(run, capsys, tmp_path, error, told):
    status, said = told
    assert run("--seed", "42", "--keep", raising=error) == status
    assert said in capsys.readouterr().out
    assert (tmp_path / "chaos" / "42" / "history.jsonl").exists()


def test_a_kept_run_is_replaced_by_the_next_one_with_its_seed(run, tmp_path):
    assert run("--seed", "42", lost=True) == 1
    assert run("--seed", "42", "--keep") == 0
    assert not (tmp_path / "chaos" / "42" / "report").exists()


def test_without_a_seed_a_fresh_one_is_printed(run, capsys):
    run()
    run()
    first, second = [
        line for line in capsys.readouterr().out.splitlines() if line.startswith("chaos: 8 minutes")
    ]
    assert first != second


def flags(*arguments):
    return module.parser().parse_args(arguments)


def test_all_copies_are_lost_at_once_only_where_each_write_is_synced(monkeypatch, capsys):
    monkeypatch.setattr(module.power, "why_not", lambda: None)
    everything = BY_NAME["power-cut-all"]
    assert set(KINDS) - set(module.possible(flags())) == {everything}
    assert module.possible(flags("--flush")) == KINDS
    assert capsys.readouterr().out == ""
    assert everything not in module.possible(flags("--only", "power-cut-all,kill-any"))
    assert capsys.readouterr().out == "chaos: power-cut-all needs --flush\n"
    with pytest.raises(SystemExit):
        module.possible(flags("--only", "power-cut-all"))


def test_where_no_power_can_be_cut_that_is_said_and_the_rest_goes_on(monkeypatch, capsys):
    monkeypatch.setattr(module.power, "why_not", lambda: "no loop device")
    kinds = {kind.name for kind in module.possible(flags())}
    assert not any(name.startswith("power-cut") for name in kinds)
    assert kinds >= {"empty-leader", "damage-flip", "duplicate-id", "disk-full"}
    assert capsys.readouterr().out == "chaos: power cannot be cut on this machine: no loop device\n"


def test_containers_have_no_small_disks(run, monkeypatch, capsys):
    monkeypatch.setattr(module.composed, "why_not", lambda: None)
    with pytest.raises(SystemExit):
        module.main(["--containers", "--only", "disk-full"])
    assert (
        "containers have no disks or processes of their own to inject faults into" in capsys.readouterr().err
    )
    monkeypatch.setattr(module.composed, "why_not", lambda: "there is no docker")
    assert module.main(["--containers"]) == 2
    assert "the network cannot be cut on this machine: there is no docker" in capsys.readouterr().out


def test_the_reason_why_a_machine_cannot_cut_is_printed(monkeypatch, capsys):
    monkeypatch.setattr(module, "why_not", lambda: "network namespaces need root")
    assert module.main([]) == 2
    assert (
        "the network cannot be cut on this machine: network namespaces need root" in capsys.readouterr().out
    )
