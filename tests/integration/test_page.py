"""The live page in a real browser, over a real cluster: every button, and a failover watched to its end."""

from __future__ import annotations

import json
import random
import re
import urllib.request
from contextlib import contextmanager
from math import floor

import pytest
from playwright.sync_api import expect

from barnabas.cluster.model.ids import BrokerId
from barnabas.local.cluster import LocalCluster
from barnabas.local.supervisor import Supervisor
from barnabas.local.switches import Switches
from barnabas.local.waiting import wait_until
from barnabas.page.app import STATIC
from barnabas.page.controls import Action, LocalControls, NoControls
from barnabas.page.history import History, apply, empty
from barnabas.page.live import Source
from barnabas.page.model import Change, PartitionView, partition_json
from barnabas.page.server import PageServer
from tests.browser import started_browser

WAIT_MS = 120_000  # ends a wait that hangs: under load 1,000 partitions take half a minute to fail over

expect.set_options(timeout=WAIT_MS)

OVERRIDES = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.num.partitions": "1",
    "zookeeper.session.timeout.ms": "2000",
}


@pytest.fixture(scope="module")
def cluster_and_switches(tmp_path_factory):
    cluster = LocalCluster(tmp_path_factory.mktemp("page"), overrides=OVERRIDES)
    switches = Switches(cluster)
    with cluster:
        yield cluster, switches
    switches.close()


@pytest.fixture(scope="module")
def cluster(cluster_and_switches):
    return cluster_and_switches[0]


@pytest.fixture(scope="module")
def source(cluster):
    brokers = cluster.brokers.values()
    return Source(
        cluster.zookeeper_connect,
        cluster.bootstrap,
        {int(broker.id): broker.metrics for broker in brokers},
        {int(broker.id): broker.state_change_log.parent for broker in brokers},
        session_timeout_ms=cluster.session_timeout_ms,
    )


@pytest.fixture(scope="module")
def served(cluster, cluster_and_switches, source):
    controls = LocalControls(Supervisor(cluster), cluster.zookeeper_connect, cluster_and_switches[1])
    with PageServer(source, controls, out=cluster.directory / "report") as page:
        yield page


@pytest.fixture(scope="module")
def browser():
    with started_browser() as browser:
        yield browser


@contextmanager
def opened(browser, url, width=1280):
    """A page without an error in its script."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    context.set_default_timeout(WAIT_MS)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(error))  # noqa: PLW0108  # Playwright marks the function
    page.goto(url)
    expect(page.locator("body")).to_have_attribute("data-ready", "yes")
    try:
        yield page
    finally:
        context.close()
    assert errors == []


@pytest.fixture
def page(browser, served):
    with opened(browser, served.url) as page:
        yield page


def press(page, action, broker):
    page.get_by_role("button", name=f"{action} broker {broker}", exact=True).click()


def broker_is(page, broker, state):
    expect(page.locator(f".broker[data-id='{broker}']")).to_have_attribute("data-state", state)


def all_are_whole(page):
    expect(page.locator("#totals")).to_contain_text(re.compile(r", 0 without a leader, 0 under-replicated"))


def was_said(served, text):
    """Whether the history has this entry; the list on the page ends after some hundred entries."""
    with urllib.request.urlopen(f"{served.url}api/history") as answer:
        return any(change["text"] == text for change in json.load(answer)["changes"])


@pytest.fixture
def whole(page):
    """The page of a cluster in which all brokers run and all partitions are whole."""
    for broker in (1, 2, 3):
        broker_is(page, broker, "running")
    all_are_whole(page)
    return page


def test_a_failover_is_watched_to_its_end(whole, cluster):
    page = whole
    page.get_by_label("Name of the new topic").fill("orders")
    page.get_by_role("button", name="Create topic").click()
    expect(page.locator("[data-partition='orders-5']")).to_be_visible()
    all_are_whole(page)
    page.locator("#workload-start").click()
    expect(page.locator("#acknowledged")).to_have_text(re.compile(r"\d{2}"))
    dead = int(cluster.controller_id())
    press(page, "kill", dead)
    broker_is(page, dead, "killed")
    # Sent while there is no controller, it is answered by the next one.
    page.get_by_label("Name of the new topic").fill("too-large")
    page.get_by_role("button", name="Create topic").click()
    expect(page.locator("#notice")).to_contain_text(
        "cannot create too-large: Replication factor: 3 larger than"
    )
    expect(page.locator("#controller")).to_have_text(re.compile(rf"controller (?!{dead},)\d, epoch [2-9]"))
    page.keyboard.press("w")
    expect(page.locator("#headline")).to_have_text(
        re.compile(rf"Broker {dead} was lost; \d+ partitions moved to a new leader within [\d.]+ s\.")
    )
    expect(page.locator("#steps")).to_contain_text(f"SIGKILL to broker {dead}")
    press(page, "start", dead)
    broker_is(page, dead, "running")
    all_are_whole(page)
    expect(page.locator("#steps")).to_contain_text("whole ISR again, the last of")
    page.evaluate(
        "(text) => goTo(timeline.changes.findLastIndex((each) => each.text === text) + 1)",
        f"The process of broker {dead} is killed",
    )
    expect(page.locator(f".broker[data-id='{dead}'] .expiry")).to_have_text("session expires within 2.0 s")
    page.keyboard.press("l")
    page.locator("#workload-stop").click()
    expect(page.locator("#workload-start")).to_be_enabled()
    sent, acknowledged, failed, read = (page.locator(f"#{each}").inner_text() for each in COUNTS)
    assert (acknowledged, failed, read) == (sent, "0", sent)


COUNTS = ("sent", "acknowledged", "failed", "read")


def test_every_button_of_a_broker(whole):
    page = whole
    press(page, "pause", 2)
    broker_is(page, 2, "paused")
    expect(page.locator("#totals")).not_to_contain_text("0 under-replicated")
    press(page, "resume", 2)
    broker_is(page, 2, "running")
    press(page, "expire", 2)
    expect(page.locator("#changes")).to_contain_text("The ZooKeeper session of broker 2 is ended")
    expect(page.locator("#changes")).to_contain_text(re.compile(r"Broker 2 registered (at|again)"))
    broker_is(page, 2, "running")
    row = page.locator("#changes li", has_text=re.compile(r"Broker 2 registered (at|again)")).first
    row.get_by_role("button", name="log lines").click()
    expect(row.locator("pre")).to_have_text(
        re.compile(r"^broker 2 [\w-]+\.log: \[.*\b(broker 2|/ids/2|id=2)\b")
    )
    press(page, "stop", 2)
    broker_is(page, 2, "stopped")
    page.keyboard.press("w")
    expect(page.locator("#headline")).to_have_text(re.compile(r"[Bb]roker 2 was stopped"))
    press(page, "start", 2)
    broker_is(page, 2, "running")
    all_are_whole(page)


def test_a_broker_is_cut_off_and_connected_again(whole):
    page = whole
    press(page, "cut", 3)
    broker_is(page, 3, "cut")
    expect(page.locator("#changes")).to_contain_text(
        "Broker 3 is cut off from ZooKeeper and the other brokers"
    )
    expect(page.locator("#changes")).to_contain_text("Broker 3 is gone from ZooKeeper")
    expect(page.locator("#totals")).not_to_contain_text(", 0 under-replicated")
    press(page, "heal", 3)
    broker_is(page, 3, "running")
    expect(page.get_by_role("button", name="heal broker 3", exact=True)).to_be_disabled()
    all_are_whole(page)


def test_throughput_is_shown_by_topic_and_by_broker(whole):
    page = whole
    page.locator("#workload-start").click()
    rate = re.compile(r"[·,] [1-9]\d* records/s")
    expect(page.locator(".topic summary", has_text="page-workload")).to_have_text(rate)
    expect(page.locator(".broker p", has_text=rate)).not_to_have_count(0)
    page.locator("#workload-stop").click()


def test_figures_of_the_past_are_those_of_that_time_or_unknown(whole):
    page = whole
    workload, groups = page.locator(".topic summary", has_text="page-workload"), page.locator("#groups")
    page.locator("#workload-start").click()
    expect(workload).to_have_text(re.compile(r", [1-9]\d* records/s"))
    # A reading is 0, or without groups, if a broker did not answer in time, so one topic may not do.
    reading = "() => readingAt(timeline.changes.findLast((each) => each.text.includes('was created')).at)"
    for number in range(30):
        page.get_by_label("Name of the new topic").fill(f"meanwhile{number}")
        page.get_by_label("Partitions of the new topic").fill("1")
        page.get_by_role("button", name="Create topic").click()
        expect(page.locator(f"[data-partition='meanwhile{number}-0']")).to_have_count(1)
        at = page.evaluate("() => Date.now()")
        page.wait_for_function("(at) => readings.at(-1)?.at > at", arg=at)
        then = page.evaluate(reading)
        if then["rates"]["page-workload"] > 0 and then["groups"] is not None:
            break
    assert then["rates"]["page-workload"] > 0
    page.locator("#workload-stop").click()
    page.wait_for_function("() => figures.rates['page-workload'] === 0")

    page.locator("#changes .text", has_text="was created").first.click()
    # A browser rounds 76.5 up to 77, and Python's round down to 76.
    expect(workload).to_contain_text(f"{floor(then['rates']['page-workload'] + 0.5)} records/s")
    expect(page.locator("#sent")).to_have_text(f"{then['workload']['sent']:,}")
    expect(groups).not_to_contain_text("unknown")

    page.locator("#slider").fill("0")  # before this page was opened
    expect(groups).to_have_text("unknown: this page was not open then")
    expect(page.locator("#sent")).to_have_text("?")
    expect(page.locator("#totals")).not_to_contain_text("records/s")
    page.keyboard.press("l")
    expect(groups).not_to_contain_text("unknown")


def test_epochs_and_lag_are_on_the_tiles(whole):
    page = whole
    page.locator("#workload-start").click()
    tiles = page.locator("[data-partition^='page-workload-'] small")
    expect(tiles.first).to_have_text(re.compile(r"^e\d+"))
    # The workload's producer may take a leader that is cut off for the leader as long as its metadata lasts.
    leaders = "() => Object.values(timeline.latest.partitions['page-workload']).map(([leader]) => leader)"
    led = page.evaluate(leaders)
    follower = min((1, 2, 3), key=led.count)
    press(page, "cut", follower)
    expect(tiles.filter(has_text=re.compile(r"^e\d+ \u2212[1-9]\d*k?$"))).not_to_have_count(0)
    title = page.locator(".topic summary", has_text="page-workload")
    expect(title).to_have_text(re.compile(r", leader epoch \d+( to \d+)?, .*records behind$"))
    page.locator("#workload-stop").click()
    press(page, "heal", follower)
    all_are_whole(page)


def changes_at_random(count):
    """Changes of all kinds, in any order; some of them change nothing."""
    draw = random.Random(16)
    for _ in range(count):
        broker, topic, number = draw.randint(1, 4), draw.choice("abc"), draw.randint(0, 3)
        match draw.randint(0, 6):
            case 0:
                registered = draw.choice(
                    [None, {"address": "h:1", "epoch": draw.randint(1, 9), "rack": None}]
                )
                yield Change("broker", "", {"id": broker, "registered": registered})
            case 1:
                yield Change("process", "", {"id": broker, "state": draw.choice(["running", "killed"])})
            case 2:
                epoch = draw.randint(1, 9)
                yield Change("controller", "", {"controller": draw.choice([None, broker]), "epoch": epoch})
            case 3:
                action = draw.choice(list(Action))
                yield Change("action", "", {"id": broker, "action": str(action)})
            case 4:
                yield Change("zookeeper", "", {"connected": True})
            case _:
                state = draw.choice([None, *(partition_json(PartitionView((1, 2), n, (n,))) for n in (1, 2))])
                yield Change("partition", "", {"topic": topic, "partition": number, "state": state})


def test_the_script_and_the_server_agree_on_every_state(browser):
    changes = list(changes_at_random(1_200))
    state, states = empty(), [json.dumps(empty(), sort_keys=True)]
    for change in changes:
        apply(state, change)
        states.append(json.dumps(state, sort_keys=True))
    page = browser.new_page()
    page.add_script_tag(path=STATIC / "state.js")
    told = page.evaluate(
        """([base, changes]) => {
            const timeline = new Timeline(base, changes);
            const counts = Array.from({length: changes.length + 1}, (_, count) => count);
            return counts.map((count) => JSON.stringify(timeline.after(count)));
        }""",
        [empty(), [entry.json() for entry in History().add(0, changes)]],
    )
    page.close()
    assert [json.dumps(json.loads(each), sort_keys=True) for each in told] == states


def test_time_is_scrolled_back_and_shared_as_a_link(whole, browser):
    page = whole
    acting = page.locator(".broker button:enabled, #create-topic:enabled, #workload-start:enabled")
    expect(page.locator(".broker button[title='']")).to_have_count(0)
    expect(acting).not_to_have_count(0)
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#live")).to_have_attribute("aria-pressed", "false")
    expect(page.locator("#past")).to_be_visible()
    expect(acting).to_have_count(0)
    at = page.locator("#moment").inner_text()
    page.locator("#share").click()
    link = page.evaluate("() => navigator.clipboard.readText()")
    with opened(browser, link) as shared:
        expect(shared.locator("#moment")).to_have_text(at)
        shared.locator("#slider").fill("1")
        expect(shared.locator("#brokers .broker")).to_have_count(1)
        shared.keyboard.press("l")
        expect(shared.locator("#brokers .broker")).to_have_count(3)


def test_the_buttons_around_the_cluster(whole):
    page, body = whole, whole.locator("body")
    background = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Theme").click()
    expect(body).not_to_have_css("background-color", background)
    page.get_by_role("button", name="Keys").click()
    expect(page.locator("#keys")).to_be_visible()
    page.get_by_role("button", name="Close").click()
    expect(page.locator("#keys")).to_be_hidden()
    live = page.get_by_role("button", name="Live")
    page.get_by_role("button", name="Previous change").click()
    expect(live).to_have_attribute("aria-pressed", "false")
    back_at = page.evaluate("() => position")
    page.get_by_role("button", name="Next change").click()
    assert page.evaluate("() => position") == back_at + 1
    live.click()
    expect(live).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Tell the last failover").click()
    expect(page.locator("#headline")).to_have_text(re.compile(r"lost|stopped|no broker", re.IGNORECASE))


def test_filters_by_mouse_and_by_key(whole):
    page = whole
    partitions = page.locator(".partition:visible")
    shown = partitions.count()
    assert shown > 0
    page.get_by_label("only those not whole").check()
    expect(partitions).to_have_count(0)
    page.locator("body").press("u")
    expect(page.get_by_label("only those not whole")).not_to_be_checked()
    expect(partitions).to_have_count(shown)
    page.get_by_label("Name of the new topic").fill("__internal")
    page.get_by_role("button", name="Create topic").click()
    internal = page.locator("[data-partition='__internal-0']")
    expect(internal).to_have_count(1)
    expect(internal).to_be_hidden()
    page.locator("#filter").fill("__internal-0")
    expect(internal).to_be_visible()
    page.locator("#filter").fill("")
    expect(internal).to_be_hidden()
    name = partitions.first.get_attribute("data-partition")
    partitions.first.click()
    expect(page.locator("#filter")).to_have_value(name)
    page.locator("#filter").fill("")
    page.locator("#filter").press("Escape")
    page.locator("body").press("/")
    expect(page.locator("#filter")).to_be_focused()
    page.locator("#filter").press("Escape")
    page.locator("body").press("3")
    expect(page.locator(".broker[data-id='3'] button:focus")).to_have_count(1)
    page.locator("body").press("c")
    page.wait_for_function("() => navigator.clipboard.readText().then((text) => text.includes('#at='))")


def test_a_page_finds_its_server_again(browser, source, tmp_path):
    with PageServer(source, NoControls(), out=tmp_path) as first:
        port = int(first.url.rstrip("/").rpartition(":")[2])
        with opened(browser, first.url) as page:
            expect(page.locator("#connection")).to_have_text("live")
            first.__exit__(None, None, None)
            expect(page.locator("#connection")).to_have_text("connection lost; trying again")
            with PageServer(source, NoControls(), out=tmp_path, ports=[port]):
                expect(page.locator("#connection")).to_have_text("live")
                expect(page.locator(".broker")).to_have_count(3)


def test_a_change_shows_the_log_lines_behind_it(whole):
    page = whole
    row = page.locator("#changes li", has_text=re.compile(r"^[\d:.]+\S*-\d+: .*leader epoch")).first
    row.get_by_role("button", name="log lines").click()
    expect(row.locator("pre")).to_contain_text(re.compile(r"broker \d state-change\.log: \["))


@pytest.mark.timeout(900)
def test_the_report_is_made_and_opened(whole):
    page = whole
    page.get_by_role("button", name="Report of the logs").click()
    link = page.get_by_role("link", name="Open the report")
    expect(link).to_be_visible(timeout=5 * WAIT_MS)  # on a busy machine Spark takes minutes
    with page.context.expect_page() as opening:
        link.click()
    report = opening.value
    # Its script has run to its end, which the page's policy for its own scripts would forbid.
    expect(report.locator("html")).to_have_attribute("data-ready", "yes")
    expect(report.locator("h1")).not_to_be_empty()
    page.reload()
    expect(link).to_be_visible()


def test_an_error_is_shown(whole):
    page = whole
    page.get_by_label("Name of the new topic").fill("orders")
    page.get_by_role("button", name="Create topic").click()
    expect(page.locator("#notice")).to_contain_text("cannot create orders: ")
    page.locator("#notice").get_by_role("button", name="Close").click()
    expect(page.locator("#notice")).to_be_empty()


def test_a_small_window_and_the_other_theme(browser, served):
    with opened(browser, served.url, width=400) as page:
        expect(page.locator(".broker")).to_have_count(3)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 400
        before = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        page.keyboard.press("d")
        expect(page.locator("body")).not_to_have_css("background-color", before)
        page.keyboard.press("?")
        expect(page.locator("#keys")).to_be_visible()


def test_a_thousand_partitions_and_a_cluster_that_was_all_killed(whole, cluster, served):
    page = whole
    page.get_by_label("Name of the new topic").fill("large")
    page.get_by_label("Partitions of the new topic").fill("1000")
    page.get_by_role("button", name="Create topic").click()
    expect(page.locator("[data-partition^='large-']")).to_have_count(1000)
    all_are_whole(page)
    for broker in cluster.brokers:
        cluster.kill(broker)
    zookeeper = cluster.zookeeper
    assert zookeeper is not None
    zookeeper.kill()
    for broker in (1, 2, 3):
        broker_is(page, broker, "ended")
    wait_until(lambda: was_said(served, "ZooKeeper does not answer"), "the loss of ZooKeeper")
    zookeeper.start()
    for broker in cluster.brokers:
        cluster.restart(BrokerId(broker), wait=False)
    for broker in (1, 2, 3):
        broker_is(page, broker, "running")
    wait_until(lambda: was_said(served, "ZooKeeper answers again"), "the return of ZooKeeper")
    all_are_whole(page)
    page.locator("#filter").fill("large-100")
    expect(page.locator(".partition:visible")).to_have_count(1)
