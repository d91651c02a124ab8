"""``python -m barnabas.chaos``: a chaos run, as ``make chaos`` and CI start it.

Clients write to and read from three brokers with three ZooKeepers, each in its own network namespace, while
faults are injected by a seeded schedule. Afterwards the run is judged. The exit code is 0 if every promise
was kept, 1 if one was broken (the history, logs, seed and Spark report are kept then), and 2 if this machine
cannot run it.
"""

from __future__ import annotations

import argparse
import json
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from types import FrameType

from barnabas.chaos.chaos import Chaos, Findings
from barnabas.chaos.checker.epochs import Act, Epochs, acts_of, check_epochs
from barnabas.chaos.checker.quorum import agreed
from barnabas.chaos.checker.summary import Summary, summarize
from barnabas.chaos.checker.txn_log import Txn, TxnLogError, read_txns
from barnabas.chaos.nemeses.schedule import BY_NAME, KINDS, Kind, Needs, schedule
from barnabas.chaos.targets import composed, power
from barnabas.chaos.targets.disk import DiskError, remove_leftovers
from barnabas.chaos.targets.links import NetworkError
from barnabas.chaos.targets.local import BROKERS, ZOOKEEPERS, keep_disks, local_targets
from barnabas.chaos.targets.network import why_not
from barnabas.chaos.targets.targets import Targets, node_of
from barnabas.chaos.workload.traffic import TOPICS
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.local.ensemble import names_of
from barnabas.local.errors import ClusterError
from barnabas.local.ports import PortError
from barnabas.local.zookeeper_jars import ZooKeeperStartError
from barnabas.workload.history import History, save

CLUSTER = "cluster"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the flags."""
    flags = argparse.ArgumentParser(prog="chaos", description=(__doc__ or "").split("\n\n")[1])
    flags.add_argument("--minutes", type=minutes_of, default=8.0, help="minutes of faults (8)")
    flags.add_argument("--seed", type=int, help="the schedule's seed; by default a new one, which is printed")
    flags.add_argument(
        "--only", type=kinds_of, default=KINDS, metavar="NAME,…", help=f"of {', '.join(BY_NAME)}"
    )
    flags.add_argument("--dir", type=Path, default=Path("build/chaos"), help="where a failing run is kept")
    flags.add_argument(
        "--containers",
        action="store_true",
        help="inject faults into docker-compose.yml's containers instead of processes",
    )
    flags.add_argument(
        "--flush",
        action="store_true",
        help="sync each write before it is acknowledged, and also cut the power of all brokers at once",
    )
    flags.add_argument("--keep", action="store_true", help="keep a run that passed too")
    return flags


def minutes_of(text: str) -> float:
    """Parse a number of minutes above 0.

    Raises:
        argparse.ArgumentTypeError: The text is not such a number.
    """
    try:
        minutes = float(text)
    except ValueError:
        minutes = 0.0
    if not 0.0 < minutes < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of minutes above 0")
    return minutes


def kinds_of(names: str) -> tuple[Kind, ...]:
    """Parse a comma-separated list of nemeses.

    Raises:
        argparse.ArgumentTypeError: A name is not a nemesis.
    """
    unknown = [name for name in names.split(",") if name not in BY_NAME]
    if unknown:
        raise argparse.ArgumentTypeError(f"no nemesis {', '.join(unknown)}; there are {', '.join(BY_NAME)}")
    return tuple(BY_NAME[name] for name in names.split(","))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run with the given arguments and return the exit code."""
    flags = parser().parse_args(arguments)
    kinds = possible(flags)
    reason = composed.why_not() if flags.containers else why_not()
    if reason is not None:
        say(f"chaos: the network cannot be cut on this machine: {reason}")
        return 2
    seed = secrets.randbelow(1 << 32) if flags.seed is None else flags.seed
    say(f"chaos: {flags.minutes:g} minutes, SEED={seed}")
    signal.signal(signal.SIGTERM, _stop)
    try:
        return _try(flags, seed, kinds)
    except (ClusterError, DiskError, NetworkError, PortError, ZooKeeperStartError, OSError) as error:
        say(f"chaos: the run failed to start or to continue: {error}")
        return 2
    except KeyboardInterrupt:
        say(f"chaos: interrupted with SEED={seed}; the files so far are in {flags.dir / str(seed)}")
        return 128 + signal.SIGINT


def possible(flags: argparse.Namespace) -> tuple[Kind, ...]:
    """Select the nemeses that can run here, print why others cannot, and exit if none is left."""
    without: list[str] = []
    lacking: set[Needs] = set()
    if flags.containers:
        lacking = {Needs.DISK, Needs.POWER, Needs.PROCESS}
        without.append("containers have no disks or processes of their own to inject faults into")
    elif (reason := power.why_not()) is not None:
        lacking = {Needs.POWER}
        without.append(f"power cannot be cut on this machine: {reason}")
    kinds = tuple(k for k in flags.only if k.needs not in lacking and (flags.flush or not k.flushed_only))
    if not flags.flush and flags.only is not KINDS:
        without += [f"{kind.name} needs --flush" for kind in flags.only if kind.flushed_only]
    for line in without:
        say(f"chaos: {line}")
    if not kinds:
        parser().error("; ".join(without))
    return kinds


def _try(flags: argparse.Namespace, seed: int, kinds: Sequence[Kind]) -> int:
    directory = (flags.dir / str(seed)).resolve()
    remove_leftovers()
    if directory.exists():
        shutil.rmtree(directory)
    history = History(time.monotonic)
    passed = False
    with _targets(flags, directory) as targets:
        try:
            try:
                findings = _run(targets, history, kinds, seed, flags)
            finally:
                targets.gather(directory / CLUSTER)
            summary = judge(directory, history, findings, kinds)
            passed = not summary.problems
        finally:
            if not passed or flags.keep:
                save(directory / "history.jsonl", history.ops())
                keep_disks(targets)
    figures = report(flags, seed, findings, summary)
    if not passed:
        analyze(directory)
        say(f"chaos: FAILED with SEED={seed}; history, logs and Spark's report are in {directory}")
        return 1
    if not flags.keep:
        shutil.rmtree(directory)
    say(f"chaos: passed, {findings.steps} steps, {findings.cuts} real network cuts, SEED={seed}; {figures}")
    return 0


def report(flags: argparse.Namespace, seed: int, findings: Findings, summary: Summary) -> Path:
    """Print the summary and save it as JSON beside the run's directory, where it stays if the run passed.

    Returns:
        The JSON file.
    """
    table = "\n".join([f"SEED={seed}", *summary.lines(), "", *findings.notes, *summary.problems])
    say(table)
    (flags.dir / str(seed) / "summary.txt").write_text(table + "\n", encoding="utf-8")
    run = {"seed": seed, "minutes": flags.minutes, "steps": findings.steps, "cuts": findings.cuts}
    figures = {**run, **summary.figures(), "notes": findings.notes}
    file: Path = flags.dir / f"{seed}.json"
    file.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return file


def say(line: str) -> None:
    """Print a line and flush it, so that progress shows at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _brokers() -> list[BrokerId]:
    return [BrokerId(n) for n in range(1, BROKERS + 1)]


def _least_cuts(kinds: Sequence[Kind]) -> int:
    return int(any(kind.is_cut for kind in kinds))


def _targets(flags: argparse.Namespace, directory: Path) -> AbstractContextManager[Targets]:
    if flags.containers:
        return composed.composed_targets(directory)
    return local_targets(directory / CLUSTER, say, has_power=power.why_not() is None)


def _run(
    targets: Targets, history: History, kinds: Sequence[Kind], seed: int, flags: argparse.Namespace
) -> Findings:
    chaos = Chaos(targets, history, say, flushed=flags.flush)
    chaos.run(schedule(seed, kinds), flags.minutes * 60, least_cuts=_least_cuts(kinds))
    return chaos.findings


def judge(directory: Path, history: History, findings: Findings, kinds: Sequence[Kind]) -> Summary:
    """Judge the run whose files are in ``directory``.

    A run without a fault proves nothing, and neither does one whose nemeses include a cut if no cut was made;
    both count as problems.
    """
    found = list(findings.problems)
    if findings.steps == 0:
        found.append("no fault was tried and recovered from")
    if findings.cuts < _least_cuts(kinds):
        found.append("no real cut of the network was made")
    lasting = [TopicPartition(topic, n) for topic, (count, _) in TOPICS.items() for n in range(count)]
    return summarize(history.ops(), epochs_of(directory / CLUSTER), found, lasting)


def epochs_of(cluster: Path) -> Epochs:
    """Check epochs in ZooKeeper's transaction logs and the state-change logs below a cluster's directory.

    The state-change logs are read first, so that the transaction logs, read later, contain everything that
    they refer to. A server without any log is a problem.
    """
    acts = {node_of(broker): _acts_of(broker, cluster / node_of(broker)) for broker in _brokers()}
    try:
        logs = {name: _txns_of(cluster / name) for name in names_of(ZOOKEEPERS)}
        found = check_epochs(agreed([*logs.values()]), set().union(*acts.values()))
    except TxnLogError as error:
        return Epochs(0, 0, 0, (f"the transaction logs cannot be read: {error}",))
    silent = [f"{name}'s logs are empty" for name, found in {**acts, **logs}.items() if not found]
    return replace(found, problems=(*found.problems, *silent))


def _acts_of(broker: BrokerId, directory: Path) -> set[Act]:
    acts: set[Act] = set()
    for log in sorted(directory.glob("logs/state-change.log*")):
        with log.open(encoding="utf-8", errors="replace") as lines:
            acts |= acts_of(broker, lines)
    return acts


def _txns_of(server: Path) -> list[Txn]:
    files = sorted(server.glob("datalog/version-2/log.*"), key=lambda file: int(file.suffix[1:], 16))
    return [txn for file in files for txn in read_txns(file.read_bytes())]


def analyze(directory: Path) -> None:
    """Write the Spark report of the brokers' logs into ``directory``; only print a failure of it."""
    logs = [str(path) for path in sorted((directory / CLUSTER).glob("broker-*/logs"))]
    command = [sys.executable, "-P", "-m", "barnabas", "analyze", *logs, "--out", str(directory / "report")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        say(f"chaos: the report was not made: {done.stderr.strip()[-500:]}")


if __name__ == "__main__":
    sys.exit(main())
