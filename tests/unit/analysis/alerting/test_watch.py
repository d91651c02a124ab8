"""The watch: a webhook that is down loses nothing that is true, blocks nobody, and is told once."""

from __future__ import annotations

import re
import socket
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from barnabas.analysis.alerting import store
from barnabas.analysis.alerting import webhook as sending
from barnabas.analysis.alerting.arguments import Alerting
from barnabas.analysis.alerting.decide import HOLD
from barnabas.analysis.alerting.watch import AddressError, Watch, watching
from barnabas.analysis.alerting.webhook import Webhook
from barnabas.analysis.story.certainty import Bound, Instant, Unknown
from barnabas.analysis.story.episodes import AlertKind, Episode
from tests.receiver import Receiver

NOON = datetime(2026, 11, 21, 12)  # noqa: DTZ001


def outage(since: float, until: float | None, name: str = "orders-3") -> Episode:
    begin = NOON + timedelta(seconds=since)
    end: Instant = Unknown("…") if until is None else Bound(None, NOON + timedelta(seconds=until))
    return Episode(
        AlertKind.NO_LEADER, name, Bound(None, begin), end, lasts=until is None, is_event=False,
        brokers=(1, 2), topic="orders", partition=3, text="…", lines=(),
    )  # fmt: skip


def elected(second: float) -> Episode:
    when = Bound(None, NOON + timedelta(seconds=second))
    return Episode(
        AlertKind.CONTROLLER_CHANGE, f"epoch {second}", when, when, lasts=False, is_event=True, brokers=(2,),
        topic=None, partition=None, text="…", lines=(),
    )  # fmt: skip


@dataclass
class Bench:
    """Watches over one folder, with a clock that the test turns and short pauses."""

    folder: Path
    receiver: Receiver
    clock: datetime = NOON
    complaints: list[str] = field(default_factory=list)
    running: list[Watch] = field(default_factory=list)

    def watch(self, *, webhook: bool = True, cluster: str | None = None) -> Watch:
        url = Webhook.of(self.receiver.url) if webhook else None
        watch = Watch(self.folder, url, cluster, self.complaints.append, lambda: self.clock)
        self.running.append(watch)
        return watch


@pytest.fixture
def bench(tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(sending, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(sending, "LONGEST_PAUSE_S", 0.05)
    made = Bench(tmp_path, receiver)
    yield made
    for watch in made.running:
        watch.close()


def test_alerts_arrive_firing_and_resolved(bench: Bench, receiver: Receiver) -> None:
    watch = bench.watch()
    assert watch.is_new
    watch.look([], None)
    assert not watch.is_new
    watch.look([outage(5, None)], "c-1")
    receiver.wait_for(1)
    watch.look([outage(5, 9)], "c-1")
    receiver.wait_for(2)
    assert receiver.told == [("orders-3", "firing"), ("orders-3", "resolved")]
    assert [post["cluster"] for post in receiver.posts] == ["c-1", "c-1"]


def test_the_operator_s_name_of_the_cluster_wins(bench: Bench, receiver: Receiver) -> None:
    bench.watch(cluster="prod").look([outage(5, None)], "c-1")
    receiver.wait_for(1)
    assert receiver.posts[0]["alerts"][0]["cluster"] == "prod"


def test_a_webhook_that_is_down_loses_nothing_and_blocks_nobody(bench: Bench, receiver: Receiver) -> None:
    receiver.status = 503
    watch = bench.watch()
    watch.look([outage(5, None, f"p-{number}") for number in range(250)], None)
    receiver.wait_for_refusals(3)
    # The analysis goes on: some of them end, others begin.
    watch.look([outage(5, None if number < 200 else 7, f"p-{number}") for number in range(260)], None)
    receiver.wait_for_refusals(5)
    receiver.status = 200
    receiver.wait_for(260 + 60)
    told = receiver.told
    assert len(told) == len(set(told)) == 260 + 60
    assert all(len(post["alerts"]) <= 100 for post in receiver.posts)
    for number in range(200, 260):
        assert told.index((f"p-{number}", "firing")) < told.index((f"p-{number}", "resolved"))
    watch.close()
    failed, recovered = (re.sub(r":\d+", "", each) for each in bench.complaints)
    assert failed == (
        "the webhook http://127.0.0.1 failed, and is tried again: status 503 Service Unavailable: expected "
        "200 to 299"
    )
    assert recovered == "the webhook http://127.0.0.1 answers again"


def test_a_restart_sends_nothing_twice_and_what_was_not_sent(bench: Bench, receiver: Receiver) -> None:
    watch = bench.watch()
    watch.look([outage(5, None)], None)
    receiver.wait_for(1)
    receiver.status = 500
    watch.look([outage(5, None), outage(6, None, "p-1")], None)
    receiver.wait_for_refusals(1)
    watch.close()
    receiver.status = 200
    again = bench.watch()
    assert not again.is_new
    receiver.wait_for(2)
    again.look([outage(5, None), outage(6, None, "p-1")], None)
    again.look([outage(5, 9), outage(6, None, "p-1")], None)
    receiver.wait_for(3)
    again.close()
    assert receiver.told == [("orders-3", "firing"), ("p-1", "firing"), ("orders-3", "resolved")]


def test_an_event_is_resolved_while_nothing_is_added_to_the_logs(bench: Bench, receiver: Receiver) -> None:
    watch = bench.watch()
    watch.look([], None)
    watch.look([elected(5)], None)
    receiver.wait_for(1)
    watch.wait()
    bench.clock += HOLD[AlertKind.CONTROLLER_CHANGE]
    watch.wait()
    receiver.wait_for(2)
    assert [status for _, status in receiver.told] == ["firing", "resolved"]


def test_a_file_that_cannot_be_written_keeps_nothing_from_being_sent(
    bench: Bench, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = bench.watch()
    watch.look([], None)
    save: Callable[..., None] = store.save

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    watch.look([outage(5, None)], None)
    receiver.wait_for(1)
    monkeypatch.setattr(store, "save", full)
    watch._acknowledge({})
    monkeypatch.setattr(store, "save", save)
    watch.look([outage(5, 6)], None)
    receiver.wait_for(2)
    assert bench.complaints == [f"cannot write '{bench.folder / store.ALERTS}': No space left on device"]


def metrics(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        return str(answer.read().decode())


def test_prometheus_sees_what_fires(bench: Bench) -> None:
    watch = bench.watch(webhook=False)
    port = watch.serve("127.0.0.1", 0)
    text = metrics(port)
    assert 'barnabas_alerts_firing{kind="PartitionWithoutLeader",severity="critical"} 0.0' in text
    assert "barnabas_follow_looked_timestamp_seconds " not in text
    watch.look([outage(-9, -5, "old-0")], None)
    watch.look([outage(-9, -5, "old-0"), outage(5, None), outage(6, 7, "p-1"), elected(8)], 'c"1')
    text = metrics(port)
    assert 'barnabas_alerts_firing{kind="PartitionWithoutLeader",severity="critical"} 1.0' in text
    assert 'barnabas_alerts_firing{kind="ControllerChange",severity="info"} 1.0' in text
    assert 'barnabas_alerts_raised_total{kind="PartitionWithoutLeader",severity="critical"} 2.0' in text
    assert 'barnabas_alerts_raised_total{kind="ControllerChange",severity="info"} 1.0' in text
    assert (
        'barnabas_alert{brokers="1,2",cluster="c\\"1",id="PartitionWithoutLeader:orders-3:2026-11-21T12:00:05.000Z"'
        ',kind="PartitionWithoutLeader",partition="3",severity="critical",topic="orders"} 1.0'
    ) in text
    assert 'partition="",severity="info",topic=""} 1.0' in text
    assert "barnabas_follow_looks_total 2.0" in text
    assert "barnabas_follow_looked_timestamp_seconds 1.795262400e+09" in text or "1.7952624e+09" in text
    assert "webhook" not in text
    since = re.search(r"barnabas_alert_since_timestamp_seconds\{id=\"PartitionWithout.*\} (\S+)", text)
    assert since is not None
    assert float(since[1]) == 1_795_262_405.0


def test_prometheus_sees_a_webhook_that_fails(bench: Bench, receiver: Receiver) -> None:
    receiver.status = 500
    watch = bench.watch()
    port = watch.serve("127.0.0.1", 0)
    watch.look([outage(5, None)], None)
    receiver.wait_for_refusals(3)
    text = metrics(port)
    assert "barnabas_alerts_webhook_pending 1.0" in text
    failures = re.search(r"barnabas_alerts_webhook_failures_total (\d\S*)", text)
    assert failures is not None
    assert float(failures[1]) >= 2


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(
            AddressError, match=rf"cannot serve alerts on 127.0.0.1:{port}: .* expected an addr"
        ):
            watching(tmp_path, Alerting(port=port), lambda _: None)


def test_the_port_is_told_and_released(tmp_path: Path) -> None:
    said: list[str] = []
    watch = watching(tmp_path, Alerting(port=0), said.append)
    found = re.fullmatch(r"alerts for Prometheus are on http://127.0.0.1:(\d+)/metrics", said[0])
    assert found is not None
    metrics(int(found[1]))
    watch.close()
    socket.create_server(("127.0.0.1", int(found[1]))).close()
