"""``spark-submit analysis/job.py`` on a standalone master with two workers, from a foreign folder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pyspark
import pytest

from barnabas.bench.logs.state_change_logs import write_logs
from barnabas.local.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[3]
SPARK = Path(pyspark.__file__).parent / "bin"
DEADLINE_S = 120.0
BIG_FILE_MB = int(os.environ.get("BARNABAS_BIG_FILE_MB", "192"))
"""The whole 2 GB take minutes: BARNABAS_BIG_FILE_MB=2048."""

# Run by each Python of the cluster when it starts: our packages cannot be found but where the job ships them.
WITHOUT_OURS = f"""
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in repr(finder)]
sys.path[:] = [path for path in sys.path if "editable" not in path and path != {str(ROOT)!r}]
"""


@contextmanager
def server(log: Path, *command: str, environment: dict[str, str]) -> Iterator[None]:
    with log.open("w") as output, subprocess.Popen(
        [str(SPARK / "spark-class"), *command],
        cwd=log.parent, env=environment, stdout=output, stderr=output,
    ) as process:  # fmt: skip
        try:
            yield
        finally:
            process.terminate()


def wait_for(log: Path, pattern: str) -> re.Match[str]:
    return wait_until(
        lambda: re.search(pattern, log.read_text()),
        f"{pattern!r} in {log}",
        DEADLINE_S,
        last=lambda: log.read_text()[-2000:],
    )


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    site = tmp_path_factory.mktemp("site")
    (site / "sitecustomize.py").write_text(WITHOUT_OURS)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "PYSPARK"))}
    hidden = subprocess.run(
        [sys.executable, "-c", "import barnabas"],
        cwd=site, env=kept | {"PYTHONPATH": str(site)}, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert "ModuleNotFoundError" in hidden.stderr
    return kept | {
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(site),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        # Six processes of a few seconds each: to compile well what runs once takes most of such a time.
        "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("standalone")
    deploy = "org.apache.spark.deploy"
    quiet = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    with ExitStack() as stack:
        log = folder / "master.log"
        stack.enter_context(server(log, f"{deploy}.master.Master", *quiet, environment=environment))
        url = wait_for(log, r"spark://127\.0\.0\.1:\d+")[0]
        for name in ("one", "two"):
            command = (f"{deploy}.worker.Worker", *quiet, "--cores", "1", "--memory", "1g")
            place = ("--work-dir", str(folder / name), url)
            stack.enter_context(server(folder / f"{name}.log", *command, *place, environment=environment))
        for name in ("one", "two"):
            wait_for(folder / f"{name}.log", "Successfully registered with master")
        yield url


def submit(folder: Path, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SPARK / "spark-submit"), *arguments],
        cwd=folder, env=environment, check=False, capture_output=True, text=True,
    )  # fmt: skip


def test_the_job_ships_its_own_packages(master: str, environment: dict[str, str], tmp_path: Path) -> None:
    write_logs(tmp_path / "logs", 2_000)
    done = submit(
        tmp_path, environment,
        "--master", master, "--executor-memory", "512m",
        str(ROOT / "analysis" / "job.py"), "logs", "--out", "report", "--format", "json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout)
    events = pq.read_table(tmp_path / "report" / "events", columns=["understood"])
    assert events.num_rows >= 2_000
    assert all(events["understood"].to_pylist())


def test_the_readme_s_command_works(master: str, environment: dict[str, str], tmp_path: Path) -> None:
    write_logs(tmp_path / "logs", 200)
    (command,) = re.findall(r"^\$ (.* spark-submit .*)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    for place, ours in (
        ("spark://host:7077", f"{master} --executor-memory 512m"),
        ("hdfs:///logs/kafka", str(tmp_path / "logs")),
        ("hdfs:///reports/kafka", str(tmp_path / "report")),
    ):
        assert place in command
        command = command.replace(place, ours)
    done = subprocess.run(
        ["sh", "-c", command], cwd=ROOT, env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "report" / "report.json").is_file()


def test_a_file_larger_than_the_driver_s_memory_is_read(environment: dict[str, str], tmp_path: Path) -> None:
    (one, *_) = write_logs(tmp_path / "some", 20_000)
    text = one.read_bytes()
    lines = text.count(b"(state.change.logger)\n")
    times = BIG_FILE_MB * 1_000_000 // len(text) + 1
    big = tmp_path / "broker-1.log"
    with big.open("wb") as file:
        for _ in range(times):
            file.write(text)
    script = tmp_path / "read.py"
    script.write_text(
        f"import sys\nfrom pathlib import Path\nsys.path.insert(0, {str(ROOT)!r})\n"
        "from barnabas.analysis.scan import write_events\n"
        "from barnabas.analysis.runtime.session import spark_session\n"
        "from barnabas.analysis.sources import find\n"
        "with spark_session() as spark:\n"
        f"    tallies = write_events(spark, find([{str(big)!r}]), Path({str(tmp_path / 'events')!r}))\n"
        "print(sum(tally['understood'] for tally in tallies))\n"
    )
    memory = "1g" if BIG_FILE_MB >= 2048 else f"{max(BIG_FILE_MB // 2, 480)}m"
    done = submit(tmp_path, environment, "--master", "local[2]", "--driver-memory", memory, str(script))
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == [str(lines * times)]
