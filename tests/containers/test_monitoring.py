"""The profile `monitoring`: live brokers have what Prometheus scrapes and the dashboard asks for."""

from __future__ import annotations

import json
import os
import re
import subprocess
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from barnabas.local.waiting import wait_until

pytestmark = [pytest.mark.containers, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
PROMETHEUS = (ROOT / "monitoring" / "prometheus.yml").read_text()
DASHBOARD = json.loads((ROOT / "monitoring" / "dashboards" / "barnabas.json").read_text())
EXPRESSIONS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]

SELECTOR = re.compile(r"\b((?:kafka|barnabas)_\w+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)(=~|!=|=)"([^"]*)"')


def configured(profile: str) -> dict[str, dict[str, object]]:
    """The services of a profile, as Compose understands them."""
    command = ["docker", "compose", "--profile", profile, "config", "--format", "json"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    found: dict[str, dict[str, object]] = json.loads(done.stdout)["services"]
    return found


def targets() -> list[str]:
    """What Prometheus scrapes."""
    return re.findall(r'"([\w-]+:\d+)"', PROMETHEUS)


def matches(sample: Sample, name: str, matchers: str | None) -> bool:
    """Whether Prometheus would select a sample; a label that it lacks is empty there."""
    if sample.name != name:
        return False
    for label, operator, value in MATCHER.findall(matchers or ""):
        actual = sample.labels.get(label, "")
        is_equal = re.fullmatch(value, actual) is not None if operator == "=~" else actual == value
        if is_equal is (operator == "!="):
            return False
    return True


def test_each_mounted_file_exists_and_grafana_asks_that_prometheus(engine):
    services = configured("monitoring")
    for service in ("prometheus", "grafana"):
        mounts = services[service]["volumes"]
        assert mounts
        assert all(Path(mount["source"]).exists() for mount in mounts), mounts
    datasource = (ROOT / "monitoring" / "datasource.yml").read_text()
    (published,) = services["prometheus"]["ports"]
    assert f"url: http://prometheus:{published['target']}\n" in datasource
    (uid,) = re.findall(r"uid: (\S+)", datasource)
    assert {panel["datasource"]["uid"] for panel in DASHBOARD["panels"]} == {uid}
    home = services["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    mounted = {mount["target"]: Path(mount["source"]) for mount in services["grafana"]["volumes"]}
    assert (mounted[str(Path(home).parent)] / Path(home).name).is_file()
    assert f"path: {Path(home).parent}\n" in (ROOT / "monitoring" / "dashboards.yml").read_text()


def test_each_broker_is_scraped(engine):
    brokers = {name for name in configured("five") if re.fullmatch(r"broker-\d", name)}
    assert {target.partition(":")[0] for target in targets()} == brokers


def test_brokers_have_every_series_that_the_dashboard_asks_for(compose):
    with compose("monitoring") as cluster:
        to_brokers = ("--bootstrap-server", "brokers:19092")
        create = ("--create", "--topic", "orders", "--replication-factor", "3")
        cluster.client("kafka-topics.sh", *to_brokers, *create)
        write = ("--topic", "orders", "--max-messages", "10")
        cluster.client("kafka-verifiable-producer.sh", *to_brokers, *write)
        read = ("--topic", "orders", "--from-beginning", "--max-messages", "10", "--group", "readers")
        cluster.client("kafka-console-consumer.sh", *to_brokers, *read)

        # From their network, as Prometheus does.
        (path,) = re.findall(r"metrics_path: (\S+)", PROMETHEUS)
        ask = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=30).read().decode())"
        running = [
            target for target in targets() if target.partition(":")[0] in ("broker-1", "broker-2", "broker-3")
        ]
        assert len(running) == 3

        def lacking() -> list[str]:
            samples = [
                sample
                for target in running
                for family in text_string_to_metric_families(
                    cluster.run("exec", "-T", "page", "python", "-c", ask, f"http://{target}{path}")
                )
                for sample in family.samples
            ]
            selectors = [selector for each in EXPRESSIONS for selector in SELECTOR.findall(each)]
            assert len(selectors) >= len(EXPRESSIONS) > 20
            return [
                f"{name}{{{matchers}}}"
                for name, matchers in selectors
                if not any(matches(sample, name, matchers) for sample in samples)
            ]

        wait_until(lambda: not lacking(), "all series", 60, lacking)

        # From this host, as the README says.
        with urllib.request.urlopen(f"http://localhost:{os.environ['METRICS_2_PORT']}/", timeout=30) as links:
            assert '<a href="/metrics/jmx">' in links.read().decode()
