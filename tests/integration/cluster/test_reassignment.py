"""Partitions move between real brokers while records are written, and none that was acknowledged is lost."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema import paths
from barnabas.local.waiting import wait_until
from barnabas.tools.reassignment.reassignment_files import render
from tests.clusters import FAULTS
from tests.trial import Trial

SCRIPT = Path(__file__).parents[3] / "scripts" / "kafka-reassign-partitions.sh"
FETCHING = "follower.fetch"
BROKERS = 4


@pytest.fixture(scope="module")
def cluster(request, shared_clusters):
    with shared_clusters.lent(request.session, FAULTS, BROKERS) as running:
        yield running


@pytest.fixture
def tool(cluster, tmp_path):
    """Runs the script with these moves for its file; what it printed."""

    def run(action, moves=None):
        words = [str(SCRIPT), "--bootstrap-server", cluster.bootstrap, f"--{action}"]
        if moves is not None:
            (tmp_path / "moves.json").write_text(render(moves))
            words += ["--reassignment-json-file", str(tmp_path / "moves.json")]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        return done.stdout

    return run


def describe(cluster, topic):
    """The lines of ``kafka-topics.sh --describe`` for the partitions of ``topic``."""
    words = [SCRIPT.with_name("kafka-topics.sh"), "--bootstrap-server", cluster.bootstrap]
    words += ["--describe", "--topic", topic]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout.splitlines()[1:]


def round_by_one(view):
    """Every replica one broker further on."""
    return {
        tp: tuple(BrokerId(replica % BROKERS + 1) for replica in partition.replicas)
        for tp, partition in view.partitions.items()
    }


def are_on(moves):
    """Whether a look finds the partitions where they were moved, every replica in sync."""
    return lambda view: all(
        partition.replicas == moves[tp]
        and set(partition.isr) == set(moves[tp])
        and partition.leader in moves[tp]
        for tp, partition in view.partitions.items()
    )


def logs(cluster, topic):
    """Which broker has a log of which partition of ``topic`` on its disk, but for those being deleted."""
    return {
        (broker.id, name)
        for broker in cluster.brokers.values()
        # Not ``rglob``, which fails if a directory that it reads is removed.
        for _, names, _ in os.walk(broker.dir)
        for name in names
        if fnmatch(name, f"{topic}-*") and not name.endswith("-delete")
    }


def expected_logs(moves):
    return {(broker, str(tp)) for tp, replicas in moves.items() for broker in replicas}


def test_all_partitions_move_under_load_though_the_controller_is_killed(cluster, tool, tmp_path):
    with Trial(cluster, topic="move") as trial:
        trial.workload.wait_for_progress(30)
        moves = round_by_one(trial.look())
        # The controller must live on another broker than the one that is held up, to be killed.
        held = next(b for b in cluster.brokers.values() if b.id != cluster.controller_id())
        held.arm(FETCHING, "pause")
        assert "Successfully started partition reassignments for move-0,move-1" in tool("execute", moves)
        waiting = [line for line in tool("list").splitlines() if f" adding: {held.id}." in line]
        assert waiting, "what waits for the broker that is held up"
        killed = cluster.controller_id()
        cluster.kill(killed)
        wait_until(lambda: cluster.controller_id() != killed, "another controller")
        assert set(waiting) <= set(
            wait_until(lambda: tool("list").splitlines()[1:], "what the successor resumes")
        )
        cluster.restart(killed)
        held.arm(FETCHING, "off")
        trial.wait_for(are_on(moves), "all partitions where they were moved", timeout_s=90)
        trial.workload.wait_for_progress(30)
    assert tool("list") == "No partition reassignments found.\n"
    assert tool("verify", moves).count(" is complete.\n") == len(moves)
    wait_until(lambda: logs(cluster, "move") == expected_logs(moves), "the logs of replicas alone")
    verdict = trial.judge(tmp_path)
    assert verdict.problems() == []


def test_a_cancelled_move_leaves_all_as_it_was(cluster, tool, tmp_path):
    with Trial(cluster, topic="stay") as trial:
        trial.workload.wait_for_progress(30)
        before = {tp: partition.replicas for tp, partition in trial.look().partitions.items()}
        moves = {
            tp: tuple(BrokerId(n) for n in range(1, BROKERS + 1) if n != min(replicas))
            for tp, replicas in before.items()
        }
        added = {next(b for b in target if b not in before[tp]) for tp, target in moves.items()}
        for broker in added:
            cluster.brokers[broker].arm(FETCHING, "pause")
        tool("execute", moves)
        assert len(tool("list").splitlines()) == 1 + len(moves)
        described = describe(cluster, "stay")
        for tp, target in moves.items():
            comes, goes = set(target) - set(before[tp]), set(before[tp]) - set(target)
            assert (
                f"\tAdding Replicas: {min(comes)}\tRemoving Replicas: {min(goes)}" in described[tp.partition]
            )
        assert "Successfully cancelled partition reassignments for: stay-0,stay-1" in tool("cancel", moves)
        for broker in added:
            cluster.brokers[broker].arm(FETCHING, "off")
        whole = trial.wait_until_in_sync()
        trial.workload.wait_for_progress(30)
    assert {tp: set(p.replicas) for tp, p in whole.partitions.items()} == {
        tp: set(replicas) for tp, replicas in before.items()
    }
    assert tool("list") == "No partition reassignments found.\n"
    assert not [line for line in describe(cluster, "stay") if "Adding" in line]
    wait_until(lambda: logs(cluster, "stay") == expected_logs(before), "no log of a replica that was to come")
    assert trial.judge(tmp_path).problems() == []


async def ask_by_znode(connect, entries):
    """Leave what a tool of old would, and wait until the controller has taken it away."""
    changed = asyncio.Event()
    session = await ZooKeeperSession.connect(
        connect, session_timeout_ms=6000, on_event=lambda _: changed.set(), connect_timeout_ms=15_000
    )
    try:
        await session.create(
            paths.REASSIGN_PARTITIONS, json.dumps({"version": 1, "partitions": entries}).encode()
        )
        async with asyncio.timeout(60):
            while await session.exists(paths.REASSIGN_PARTITIONS, watch=True) is not None:
                await changed.wait()
                changed.clear()
    finally:
        await session.close()


def test_a_znode_with_good_and_bad_entries_moves_the_good_ones(cluster, tmp_path):
    """KAFKA-9478, KAFKA-9089: what cannot be done is taken out, and stands in nobody's way."""
    with Trial(cluster, topic="old", partitions=2) as trial:
        trial.workload.wait_for_progress(30)
        moves = round_by_one(trial.look())
        good = [
            {"topic": tp.topic, "partition": tp.partition, "replicas": list(replicas)}
            for tp, replicas in moves.items()
        ]
        bad = [
            {"topic": "never", "partition": 0, "replicas": [1]},
            {"topic": "old", "partition": 9, "replicas": [1]},
        ]
        asyncio.run(ask_by_znode(cluster.zookeeper_connect, [*bad, *good]))
        trial.wait_for(are_on(moves), "the good entries done")
        trial.workload.wait_for_progress(30)
    assert set(moves) == {TopicPartition("old", 0), TopicPartition("old", 1)}
    assert trial.judge(tmp_path).problems() == []
