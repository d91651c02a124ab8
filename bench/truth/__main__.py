"""``python -m barnabas.bench.truth DIRECTORY``: failures of real clusters, and how true the story is.

Each scenario is drawn from its seed, played, and recorded in the directory; the story of the recorded logs is
then judged by what truly happened. With ``--judge`` nothing is played: what the directory holds is judged, by
the truth that its measurements give now.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue

from confluent_kafka import KafkaException

from barnabas.bench.truth.derive import truth_of
from barnabas.bench.truth.play import DIRECTORIES, Stage, StalledError
from barnabas.bench.truth.recordings import derive_again, judged, keep, keep_measured, sentences
from barnabas.bench.truth.scenarios import draw
from barnabas.local.cluster import LocalCluster
from barnabas.local.errors import ClusterError
from barnabas.local.switches import Switches
from barnabas.tools.command_line.entry import run_tool

SESSION_S = 3.0
MIN_INSYNC = 2
_PORTS = threading.Lock()
_PER_CLUSTER = 10
"""The scenarios after which a cluster is replaced, so that its logs and transactions stay small."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Play and judge scenarios, and print how many are reported truly and completely.

    Returns:
        0 if all are, else 1.
    """
    parser = argparse.ArgumentParser(prog="python -m barnabas.bench.truth", description=__doc__)
    parser.add_argument("directory", type=Path, help="where recordings are kept")
    parser.add_argument("--scenarios", type=int, default=100, help="how many (100)")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the first; each has the next (1)")
    parser.add_argument("--clusters", type=int, default=2, help="how many run at once (2)")
    parser.add_argument("--judge", action="store_true", help="judge what is recorded, and play nothing")
    options = parser.parse_args(arguments)
    if not options.judge:
        seeds: Queue[int] = Queue()
        for seed in range(options.seed, options.seed + options.scenarios):
            seeds.put(seed)
        _play_all(seeds, options.directory, options.clusters)
    return _judge_all(options.directory)


def _play_all(seeds: Queue[int], directory: Path, clusters: int) -> None:
    # The clocks of logs have no zone; the truth is in UTC.
    os.environ["TZ"] = "UTC"
    time.tzset()
    players = [
        threading.Thread(target=_play_some, args=(seeds, directory, number)) for number in range(clusters)
    ]
    for player in players:
        player.start()
    for player in players:
        player.join()


def _play_some(seeds: Queue[int], directory: Path, number: int) -> None:
    """Play the remaining scenarios, a few of them on each cluster."""
    settings = {
        "zookeeper.session.timeout.ms": str(round(SESSION_S * 1000)),
        "min.insync.replicas": str(MIN_INSYNC),
        # A producer whose topic is deleted must not make it again: the scenario after would not know it.
        "auto.create.topics.enable": "false",
        "replica.lag.time.max.ms": "4000",
        "log.dirs": ",".join(f"data/{name}" for name in DIRECTORIES),
        # A directory that is gone is noticed by the next write to one of its own files.
        "replica.high.watermark.checkpoint.interval.ms": "1000",
        "state.change.log.level": "TRACE" if number % 2 else "INFO",
    }
    while not seeds.empty():
        with (
            tempfile.TemporaryDirectory(prefix="barnabas-truth-") as folder,
            _cluster(Path(folder), settings) as (cluster, switches),
        ):
            stage = Stage(cluster, SESSION_S, MIN_INSYNC, switches=switches)
            for _ in range(_PER_CLUSTER):
                try:
                    seed = seeds.get_nowait()
                except Empty:
                    return
                scenario = draw(seed, SESSION_S)
                try:
                    measured, logs = stage.play(scenario)
                except (ClusterError, StalledError, TimeoutError, OSError, KafkaException) as error:
                    print(f"{seed:04}: played again later, {type(error).__name__}: {error}", flush=True)
                    seeds.put(seed)
                    break
                keep_measured(keep(directory, f"{seed:04}", truth_of(measured), logs), measured)
                print(f"{seed:04}: {json.dumps([str(step.action) for step in scenario.steps])}", flush=True)


@contextmanager
def _cluster(directory: Path, settings: Mapping[str, str]) -> Iterator[tuple[LocalCluster, Switches]]:
    # Free ports are chosen for one thread at a time.
    with _PORTS:
        cluster = LocalCluster(directory, overrides=settings)
        switches = Switches(cluster)
    try:
        with cluster:
            switches.is_starting = False
            yield cluster, switches
    finally:
        switches.close()


def _judge_all(directory: Path) -> int:
    paths = sorted(directory.glob("*.json"))
    wrong = 0
    for path in paths:
        derive_again(path)
        story, found = judged(path)
        if found:
            wrong += 1
            print(f"\n{path.stem}:", *sentences(story), sep="\n  ")
            print(*(f"  WRONG: {each}" for each in found), sep="\n", flush=True)
    print(f"\n{len(paths) - wrong} of {len(paths)} scenarios are reported truly and completely")
    return 1 if wrong or not paths else 0


if __name__ == "__main__":
    sys.exit(run_tool(main))
