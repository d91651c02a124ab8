"""The time that ``barnabas up`` takes until three brokers and ZooKeeper serve."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import confluent_kafka

from barnabas.bench.harness.registry import Bench, Run, at_most
from barnabas.local.observe import Observer

BROKERS = 3
DEADLINE_S = 60.0


def measure() -> Run:
    """Run the command, and poll every broker until each knows all others and the controller."""
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as directory:
        start = time.perf_counter()
        command = [str(Path(sys.executable).with_name("barnabas")), "up", "--dir", directory, "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as up:
            try:
                addresses = _addresses(Path(directory) / "cluster.json", start + DEADLINE_S)
                for address in addresses:
                    _wait_until_whole(address, start + DEADLINE_S)
                return Run(time.perf_counter() - start)
            finally:
                up.send_signal(signal.SIGTERM)


def _addresses(cluster_json: Path, deadline: float) -> list[str]:
    while time.perf_counter() < deadline:
        try:
            return [broker["kafka"] for broker in json.loads(cluster_json.read_text())["brokers"]]
        except (FileNotFoundError, json.JSONDecodeError):
            time.sleep(0.01)
    raise TimeoutError(f"no {cluster_json.name} after {DEADLINE_S:g} s")


def _wait_until_whole(address: str, deadline: float) -> None:
    """Wait until the metadata of the broker at ``address`` have all brokers and a controller."""
    observer = Observer(address)
    while time.perf_counter() < deadline:
        try:
            view = observer.look(timeout_s=1.0)
        except confluent_kafka.KafkaException:
            continue
        if len(view.brokers) == BROKERS and view.controller is not None:
            return
        time.sleep(0.01)
    raise TimeoutError(f"the broker at {address} did not know {BROKERS} brokers after {DEADLINE_S:g} s")


BENCHES = (
    Bench(
        name="startup",
        question="How long does `barnabas up` take until three brokers and ZooKeeper serve?",
        unit="s",
        target=at_most(5.0),
        measure=measure,
    ),
)
