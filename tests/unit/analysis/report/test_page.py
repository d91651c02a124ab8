"""Every control of the page, opened from a folder in a real browser, without a network."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from barnabas.analysis.report.document import OFFLINE, Document
from tests.unit.analysis.report.conftest import CONDITION, Opened

WAIT_MS = 60_000

expect.set_options(timeout=WAIT_MS)


def texts(page: Page) -> list[str]:
    return page.locator("#incidents .incident > summary").all_inner_texts()


def test_it_opens_at_the_worst_incident_with_the_lines_that_prove_it(opened: Opened) -> None:
    page = opened()
    expect(page.locator("#range")).to_contain_text("2026-11-21 03:11:29.880 to 03:15:00.000 UTC")
    current = page.locator(".incident.current")
    expect(current).to_contain_text("Broker 1, the controller, died")
    expect(current.locator("li")).to_contain_text("noticed the loss of broker 1 at 03:12:08.010")
    expect(current.locator("summary .bound")).to_have_text("at most 2 min 39 s")
    expect(current.locator("pre").first).to_have_text(
        "broker-2/state-change.log:7  [2026-11-21 03:12:08,010] <lost>"
    )
    # The changes are in order of time, the worst of them is looked at.
    assert [told.split(maxsplit=1)[0] for told in texts(page)] == ["warning", "critical"]
    expect(page.locator("#cost")).to_contain_text("1 partition had no leader")


def test_conditions_stand_on_top(opened: Opened, document: Document) -> None:
    page = opened(replace(document, conditions=[CONDITION]))
    expect(page.locator(".card h2").first).to_have_text("Conditions")
    expect(page.locator("#conditions")).to_contain_text("Restart it.")


def test_an_incident_without_an_end_is_shown_to_the_end_of_the_logs(
    opened: Opened, document: Document
) -> None:
    (incident,) = document.incidents
    page = opened(replace(document, incidents=[incident | {"until": None}]))
    expect(page.locator("#range")).to_have_text(re.compile("03:11:25.01. to 03:15:00.000 UTC"))


@pytest.mark.parametrize(
    ("control", "value", "left"),
    [
        ("#by-broker", "3", 1), ("#by-broker", "1", 0), ("#by-topic", "calm", 1),
        ("#by-severity", "critical", 0), ("#by-severity", "warning", 1),
        ("#by-kind", "replicas out of sync", 1),
    ],
)  # fmt: skip
def test_a_filter_leaves_what_matches(opened: Opened, control: str, value: str, left: int) -> None:
    page = opened()
    page.select_option(control, value)
    (told,) = texts(page)
    assert ("fell out of sync" in told) == (left == 1)
    expect(page.locator("#shown")).to_have_text("1 of 2")
    page.click("#clear")
    assert len(texts(page)) == 2
    expect(page.locator("#shown")).to_have_text("2")


def test_filters_hold_in_the_pictures_too(opened: Opened) -> None:
    page = opened()
    expect(page.locator("#rows")).to_contain_text("calm-0")
    page.select_option("#by-broker", "1")
    expect(page.locator("#rows")).not_to_contain_text("calm-0")
    expect(page.locator("#lanes")).not_to_contain_text("Broker 2")
    page.click("#clear")
    page.select_option("#by-topic", "orders")
    expect(page.locator("#lanes")).to_contain_text("without a leader")
    expect(page.locator("#rows")).not_to_contain_text("calm-0")
    page.select_option("#by-kind", "replicas out of sync")
    expect(page.locator("#incidents")).to_contain_text("No incident matches the filters.")


def bars(page: Page, kind: str) -> list[float]:
    """The widths of the bars of a kind in the rows of partitions."""
    return [float(each.get_attribute("width") or 0) for each in page.locator(f"#rows rect.{kind}").all()]


def test_an_outage_within_a_millisecond_is_seen(opened: Opened, document: Document) -> None:
    short, *_ = document.stretches
    page = opened(replace(document, stretches=[short | {"until": short["since"]}]))
    page.click("#whole")
    assert min(bars(page, "lost")) >= 3


def test_what_no_line_shows_is_not_drawn_as_known(opened: Opened, document: Document) -> None:
    first, _, last = document.leaderships
    jump = first | {"leader_epoch": 4, "since": last["since"], "until": None, "led_at": None, "ended": None}
    gone = document.incidents[0]["absences"][0]
    certain = {"certainty": "fact", "value": last["since"]}
    stopped = document.incidents[0] | {"absences": [gone | {"gone": certain}]}
    lost = document.stretches[0] | {"until": None}
    page = opened(replace(document, leaderships=[first, jump], stretches=[lost], incidents=[stopped]))
    page.click("#whole")
    expect(page.locator("#rows rect.elected")).to_have_count(2)
    # The epochs jump, the last leader left when it was elected, and no line shows a later leader.
    assert len(bars(page, "led")) == 1
    assert max(*bars(page, "elected"), *bars(page, "led"), *bars(page, "lost")) < 20
    assert min(bars(page, "unseen")) > 20
    assert len(bars(page, "unseen")) == 3
    # The strips say the same as the partition's row.
    expect(page.locator("#lanes rect.unseen").last).to_be_attached()
    assert OFFLINE in page.locator("#lanes svg").text_content()


def test_a_broker_that_is_gone_is_not_drawn_as_leader(opened: Opened, document: Document) -> None:
    first, *_ = document.leaderships
    assert document.end is not None
    # No other state follows, as in the logs of KRaft whose dead leader reads the next one after its return.
    alone = first | {"until": document.end, "led_at": first["since"]}
    page = opened(replace(document, leaderships=[alone], stretches=[]))
    page.click("#whole")
    ((led,), (unseen,)) = bars(page, "led"), bars(page, "unseen")
    # Broker 1 was lost after 03:12:02; the picture is from 03:00 to 03:15.
    assert led / (led + unseen) == pytest.approx((12 * 60 + 2) / (15 * 60), abs=0.01)


def test_who_was_elected_is_not_drawn_as_leader_before_its_own_line(
    opened: Opened, document: Document
) -> None:
    first, none, last = document.leaderships
    assert document.start is not None
    begin, late = document.start, document.start + timedelta(minutes=4)
    rows = [
        first | {"since": begin, "led_at": late},
        none | {"leader": 2, "led_at": None, "since": first["until"]},
        last | {"leader": 3, "led_at": last["since"] - timedelta(seconds=1)},
    ]
    page = opened(replace(document, leaderships=rows, stretches=[], incidents=[], incidents_count=0))
    minute = sum(bars(page, "led") + bars(page, "elected")) / 15
    # Broker 1 leads for 8 of 12 min, broker 2 is only elected, and broker 3's clock is behind.
    assert bars(page, "elected") == pytest.approx([4 * minute, 152.4 / 60 * minute], abs=2)
    assert bars(page, "led") == pytest.approx([488 / 60 * minute, 19.6 / 60 * minute], abs=2)
    names = page.locator("#rows text.elected, #rows text.on").all_text_contents()
    assert names == ["1", "1", "2", "3"]
    expect(page.locator("#key")).to_contain_text("elected, no line says yet that it leads")
    page.locator("#rows rect.elected").nth(1).hover()
    expect(page.locator("#tip")).to_contain_text("orders-3: broker 2 was elected leader, leader epoch 1")
    expect(page.locator("#tip")).to_contain_text("No line shows when it led.")
    page.locator("#rows rect.elected").first.hover()
    expect(page.locator("#tip")).to_contain_text("It led from 03:04:00.000 on.")


def test_the_time_zone_is_chosen_in_sentences_and_pictures(opened: Opened) -> None:
    page = opened()
    page.select_option("#zone", "Europe/Berlin")
    expect(page.locator("#range")).to_contain_text("04:11:29.880 to 04:15:00.000 Europe/Berlin")
    expect(page.locator(".incident.current li")).to_contain_text(
        "noticed the loss of broker 1 at 04:12:08.010"
    )
    expect(page.locator("#lanes svg")).to_contain_text("04:12")
    # A line of a log is quoted as it is.
    assert "[2026-11-21 03:12:08,010] <lost>" in (
        page.locator(".incident.current pre").first.text_content() or ""
    )
    page.select_option("#zone", "Pacific/Kiritimati")
    expect(page.locator("#range")).to_contain_text("2026-11-21 17:11:29.880")
    page.select_option("#zone", "America/Los_Angeles")
    expect(page.locator(".incident.current li")).to_contain_text("at 2026-11-20 19:12:08.010")
    page.select_option("#zone", "UTC")
    expect(page.locator(".incident.current li")).to_contain_text("at 03:12:08.010")


def test_the_page_says_in_which_zone_its_times_are(opened: Opened) -> None:
    page = opened()
    expect(page.locator("#read")).to_contain_text("Times are UTC; the logs' were read as UTC (--time-zone).")
    page.select_option("#zone", "Europe/Berlin")
    expect(page.locator("#read")).to_contain_text(
        "Times are in Europe/Berlin; the logs' were read as UTC (--time-zone)."
    )
    page.select_option("#zone", "UTC")
    expect(page.locator("#read")).to_contain_text("Times are UTC; ")


def shown(page: Page) -> str:
    return page.locator("#range").inner_text()


def test_keys_and_buttons_move_the_same(opened: Opened) -> None:
    page = opened()
    for key, button in (
        ("-", "#further"),
        ("0", "#whole"),
        ("+", "#closer"),
        ("ArrowLeft", "#earlier"),
        ("ArrowRight", "#later"),
    ):
        before = shown(page)
        page.keyboard.press(key)
        by_key = shown(page)
        assert by_key != before or key == "0", key
        page.evaluate("([text]) => { window.before = text; }", [before])
        page.click("#whole")
        page.keyboard.press("+")
        page.click(button)
        by_button = shown(page)
        page.click("#whole")
        page.keyboard.press("+")
        page.keyboard.press(key)
        assert shown(page) == by_button
    page.keyboard.press("k")
    expect(page.locator(".incident.current")).to_contain_text("fell out of sync")
    expect(page.locator("#range")).to_contain_text("03:00:45.000 to 03:02:15.000")
    page.keyboard.press("j")
    expect(page.locator(".incident.current")).to_contain_text("Broker 1, the controller, died")
    page.keyboard.press("?")
    expect(page.locator("#keylist")).to_contain_text("the next incident")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "by-broker"


def test_show_looks_at_an_incident(opened: Opened) -> None:
    page = opened()
    page.locator(".incident .show").first.click()
    expect(page.locator("#range")).to_contain_text("03:00:45.000 to 03:02:15.000")
    expect(page.locator(".incident").first).to_have_attribute("open", "")


def test_dragging_looks_closer(opened: Opened) -> None:
    page = opened()
    page.click("#whole")
    before = shown(page)
    page.locator("#rows").scroll_into_view_if_needed()
    box = page.locator("#rows svg").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 500, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 700, box["y"] + 40, steps=3)
    page.mouse.up()
    assert shown(page) != before


def test_the_post_mortem_is_downloaded(opened: Opened, tmp_path: Path) -> None:
    page = opened()
    with page.expect_download() as download:
        page.locator(".incident.current .save").click()
    saved_as = Path(download.value.suggested_filename)
    assert (saved_as.stem, saved_as.suffix) == ("post-mortem-1", ".md")
    saved = tmp_path / "saved"
    download.value.save_as(saved)
    assert saved.read_text(encoding="utf-8").startswith(
        "# Post-mortem: broker 1 left, by 2026-11-21 03:12:08.010\n"
    )
    with page.expect_download() as again:
        page.keyboard.press("m")
    assert again.value.suggested_filename == str(saved_as)


def test_the_post_mortem_has_the_times_of_the_chosen_zone(opened: Opened, tmp_path: Path) -> None:
    page = opened()
    page.select_option("#zone", "Europe/Berlin")
    with page.expect_download() as download:
        page.keyboard.press("m")
    download.value.save_as(tmp_path / "saved")
    lines = (tmp_path / "saved").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# Post-mortem: broker 1 left, by 2026-11-21 04:12:08.010"
    assert "- Times are in Europe/Berlin; the logs were read as UTC." in lines
    assert "- The cluster noticed the loss of broker 1 at 04:12:08.010." in lines
    assert "    broker-2/state-change.log:7  [2026-11-21 03:12:08,010] <lost>" in lines


def test_each_of_many_incidents_can_be_reached(opened: Opened, document: Document) -> None:
    (incident,) = document.incidents
    many = [
        incident | {"text": f"Number {number}.", "topics": [f"job-{number}"],
                    "since": incident["since"] + timedelta(seconds=number / 4)}
        for number in range(230)
    ]  # fmt: skip
    page = opened(replace(document, incidents=many, incidents_count=230))
    expect(page.locator("#shown")).to_have_text("100 of 230")
    expect(page.locator("#incidents .incident")).to_have_count(20)
    page.locator(".incident .show").nth(19).click()
    page.keyboard.press("j")
    page.click("#more-incidents")
    expect(page.locator("#more-incidents")).to_have_count(0)
    assert texts(page)[99].startswith("critical Number 99.")
    page.select_option("#by-topic", "job-97")
    (told,) = texts(page)
    assert "Number 97." in told


def test_the_page_is_no_wider_than_a_phone(opened: Opened) -> None:
    page = opened()
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
