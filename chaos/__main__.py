"""``python -m barnabas.chaos``: a run of chaos, as ``make chaos`` and CI start it.

Three brokers and three ZooKeepers, each in a network namespace of its own, are written to and read from while
a seeded schedule of faults goes on; then everything is judged. Exit code 0 where every promise was kept, 1
where one was broken (history, logs, seed and the Spark report are kept then), 2 where this machine cannot do
it.
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

from barnabas.chaos import composed, power
from barnabas.chaos.arena import Arena, node_of
from barnabas.chaos.chaos import Chaos, Findings
from barnabas.chaos.disk import DiskError, remove_leftovers
from barnabas.chaos.epochs import Act, Epochs, acts_of, check_epochs
from barnabas.chaos.history import History, save
from barnabas.chaos.links import NetworkError
from barnabas.chaos.local import BROKERS, ZOOKEEPERS, keep_disks, local_arena
from barnabas.chaos.network import why_not
from barnabas.chaos.quorum import agreed
from barnabas.chaos.reckoning import Reckoning, reckon
from barnabas.chaos.schedule import BY_NAME, KINDS, Kind, Needs, schedule
from barnabas.chaos.traffic import TOPICS
from barnabas.chaos.txn_log import Txn, TxnLogError, read_txns
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.local.cluster import ClusterError
from barnabas.local.ensemble import names_of
from barnabas.local.ports import PortError
from barnabas.local.zookeeper_jars import ZooKeeperStartError

CLUSTER = "cluster"


def parser() -> argparse.ArgumentParser:
    """The flags."""
    flags = argparse.ArgumentParser(prog="chaos", description=(__doc__ or "").split("\n\n")[1])
    flags.add_argument("--minutes", type=minutes_of, default=8.0, help="how long faults go on (8)")
    flags.add_argument("--seed", type=int, help="of the schedule; a fresh one is printed")
    flags.add_argument(
        "--only", type=kinds_of, default=KINDS, metavar="NAME,…", help=f"of {', '.join(BY_NAME)}"
    )
    flags.add_argument("--dir", type=Path, default=Path("build/chaos"), help="where a failing run is kept")
    flags.add_argument(
        "--containers",
        action="store_true",
        help="strike docker-compose.yml's containers instead of processes",
    )
    flags.add_argument(
        "--flush",
        action="store_true",
        help="sync each write before it is acknowledged, and cut the power of all brokers at once, too",
    )
    flags.add_argument("--keep", action="store_true", help="keep a run that passed too")
    return flags


def minutes_of(text: str) -> float:
    """A time that is more than none.

    Raises:
        argparse.ArgumentTypeError: It is not.
    """
    try:
        minutes = float(text)
    except ValueError:
        minutes = 0.0
    if not 0.0 < minutes < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of minutes above 0")
    return minutes


def kinds_of(names: str) -> tuple[Kind, ...]:
    """The nemeses of a list of names.

    Raises:
        argparse.ArgumentTypeError: There is none of that name.
    """
    unknown = [name for name in names.split(",") if name not in BY_NAME]
    if unknown:
        raise argparse.ArgumentTypeError(f"no nemesis {', '.join(unknown)}; there are {', '.join(BY_NAME)}")
    return tuple(BY_NAME[name] for name in names.split(","))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; the exit code."""
    flags = parser().parse_args(arguments)
    kinds = possible(flags)
    reason = composed.why_not() if flags.containers else why_not()
    if reason is not None:
        say(f"chaos: no real cut can be made here: {reason}")
        return 2
    seed = secrets.randbelow(1 << 32) if flags.seed is None else flags.seed
    say(f"chaos: {flags.minutes:g} minutes, SEED={seed}")
    signal.signal(signal.SIGTERM, _stop)
    try:
        return _try(flags, seed, kinds)
    except (ClusterError, DiskError, NetworkError, PortError, ZooKeeperStartError, OSError) as error:
        say(f"chaos: it could not be carried out: {error}")
        return 2
    except KeyboardInterrupt:
        say(f"chaos: broken off with SEED={seed}; what there is, is in {flags.dir / str(seed)}")
        return 128 + signal.SIGINT


def possible(flags: argparse.Namespace) -> tuple[Kind, ...]:
    """The nemeses that can be in this run; what keeps others out is told, and ends it where none is left."""
    without: list[str] = []
    lacking: set[Needs] = set()
    if flags.containers:
        lacking = {Needs.DISK, Needs.POWER, Needs.PROCESS}
        without.append("containers have no disks or processes of their own to strike")
    elif (reason := power.why_not()) is not None:
        lacking = {Needs.POWER}
        without.append(f"no power can be cut here: {reason}")
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
    with _arena(flags, directory) as arena:
        try:
            try:
                findings = _run(arena, history, kinds, seed, flags)
            finally:
                arena.gather(directory / CLUSTER)
            reckoning = judge(directory, history, findings, kinds)
            passed = not reckoning.problems
        finally:
            if not passed or flags.keep:
                save(directory / "history.jsonl", history.ops())
                keep_disks(arena)
    figures = tell(flags, seed, findings, reckoning)
    if not passed:
        analyze(directory)
        say(f"chaos: FAILED with SEED={seed}; history, logs and Spark's report are in {directory}")
        return 1
    if not flags.keep:
        shutil.rmtree(directory)
    say(f"chaos: passed, {findings.steps} steps, {findings.cuts} real network cuts, SEED={seed}; {figures}")
    return 0


def tell(flags: argparse.Namespace, seed: int, findings: Findings, reckoning: Reckoning) -> Path:
    """Print the table and keep it; as JSON it lies beside the run's directory and outlives a run that passed.

    Returns:
        The JSON file.
    """
    table = "\n".join([f"SEED={seed}", *reckoning.lines(), "", *findings.notes, *reckoning.problems])
    say(table)
    (flags.dir / str(seed) / "reckoning.txt").write_text(table + "\n", encoding="utf-8")
    run = {"seed": seed, "minutes": flags.minutes, "steps": findings.steps, "cuts": findings.cuts}
    figures = {**run, **reckoning.figures(), "notes": findings.notes}
    file: Path = flags.dir / f"{seed}.json"
    file.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return file


def say(line: str) -> None:
    """Print it at once: who watches a run of an hour wants to see it."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _brokers() -> list[BrokerId]:
    return [BrokerId(n) for n in range(1, BROKERS + 1)]


def _least_cuts(kinds: Sequence[Kind]) -> int:
    return int(any(kind.is_cut for kind in kinds))


def _arena(flags: argparse.Namespace, directory: Path) -> AbstractContextManager[Arena]:
    if flags.containers:
        return composed.composed_arena(directory)
    return local_arena(directory / CLUSTER, say, has_power=power.why_not() is None)


def _run(
    arena: Arena, history: History, kinds: Sequence[Kind], seed: int, flags: argparse.Namespace
) -> Findings:
    chaos = Chaos(arena, history, say, flushed=flags.flush)
    chaos.run(schedule(seed, kinds), flags.minutes * 60, least_cuts=_least_cuts(kinds))
    return chaos.findings


def judge(directory: Path, history: History, findings: Findings, kinds: Sequence[Kind]) -> Reckoning:
    """The judgement of a run that lies in ``directory``.

    A run that tried nothing has proven too little, and so has one whose nemeses include a cut and that made
    none: that is a problem too.
    """
    found = list(findings.problems)
    if findings.steps == 0:
        found.append("no fault was tried and recovered from")
    if findings.cuts < _least_cuts(kinds):
        found.append("no real cut of the network was made")
    lasting = [TopicPartition(topic, n) for topic, (count, _) in TOPICS.items() for n in range(count)]
    return reckon(history.ops(), epochs_of(directory / CLUSTER), found, lasting)


def epochs_of(cluster: Path) -> Epochs:
    """What ZooKeeper's transaction logs and the state-change logs below a cluster's directory prove.

    The state-change logs are read first: what they tell has taken place by then. A server of whom nothing is
    there to read is a problem.
    """
    acts = {node_of(broker): _acts_of(broker, cluster / node_of(broker)) for broker in _brokers()}
    try:
        logs = {name: _txns_of(cluster / name) for name in names_of(ZOOKEEPERS)}
        found = check_epochs(agreed([*logs.values()]), set().union(*acts.values()))
    except TxnLogError as error:
        return Epochs(0, 0, 0, (f"the transaction logs cannot be read: {error}",))
    silent = [f"{name}'s logs tell nothing" for name, told in {**acts, **logs}.items() if not told]
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
    """The Spark report over the brokers' logs, into ``directory``; a failure of it is told and no more."""
    logs = [str(path) for path in sorted((directory / CLUSTER).glob("broker-*/logs"))]
    command = [sys.executable, "-P", "-m", "barnabas", "analyze", *logs, "--out", str(directory / "report")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        say(f"chaos: the report was not made: {done.stderr.strip()[-500:]}")


if __name__ == "__main__":
    sys.exit(main())
