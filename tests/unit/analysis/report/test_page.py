"""Every control of the page, opened from a folder in a real browser, without a network."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from barnabas.analysis.report.detail import FOLDER
from barnabas.analysis.report.document import Document
from barnabas.analysis.report.files import Format, write_report
from tests.unit.analysis.report.conftest import Opened, with_another_incident

WAIT_MS = 60_000

expect.set_options(timeout=WAIT_MS)


def texts(page: Page) -> list[str]:
    return page.locator("#incidents .incident > summary").all_inner_texts()


def test_it_opens_at_the_worst_incident_and_loads_its_details(opened: Opened) -> None:
    page = opened()
    expect(page.locator("#range")).to_contain_text("2026-11-21 03:11:29.880 to 03:15:00.000 UTC")
    current = page.locator(".incident.current")
    expect(current).to_contain_text("Broker 1, the controller, died")
    expect(current.locator("dl .bound")).to_have_text("after 03:12:02.000, at or before 03:12:08.010")
    expect(current.locator("dl .fact")).to_have_text("03:12:08.010")
    expect(current.locator("dl .unknown")).to_have_text("unknown: no line shows that it returned")
    # What the other incident holds was not loaded.
    sources = "[...document.head.querySelectorAll('script')].map((each) => each.getAttribute('src')).sort()"
    assert page.evaluate(sources) == [
        f"{FOLDER}/incident-0.js", f"{FOLDER}/rows-0.js", f"{FOLDER}/steps-0.js"
    ]  # fmt: skip


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


def test_an_outage_within_a_millisecond_is_seen_and_is_not_zero(
    browser: Browser, document: Document, tmp_path: Path
) -> None:
    stall = document.stalls[1]
    since = stall["since"]
    short = stall | {"earliest": since, "until": since, "led_at": since, "elected": since, "failed": 0}
    (incident,), zero = document.incidents, {"certainty": "bound", "at_least": None, "at_most": 0.0}
    cost = {"partitions": ["orders-3"], "ending": "elected", "leaders": [1], "failed_elections": 0}
    costs = [cost | {"duration_ms": each} for each in (zero, {"certainty": "fact", "value": 0.0})]
    brief = replace(
        document, stalls=[short], incidents=[incident | {"costs": costs}], stretches=[], strips={}
    )
    write_report(brief, tmp_path, Format.TEXT)
    page = browser.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    page.wait_for_selector("html[data-ready=yes]", timeout=WAIT_MS)
    page.click("#whole")
    assert min(bars(page, "lost")) >= 3
    expect(page.locator(".incident.current dl dd").nth(-2)).to_have_text("less than 1 ms")
    expect(page.locator(".incident.current dl dd").nth(-1)).to_have_text("less than 1 ms")
    expect(page.locator("#answer .after").nth(-1)).to_have_text("+< 1 ms")
    page.close()


def test_what_no_line_shows_is_not_drawn_as_known(opened: Opened, document: Document, tmp_path: Path) -> None:
    first, _, last = document.leaderships
    jump = first | {"leader_epoch": 4, "since": last["since"], "until": None, "led_at": None, "ended": None}
    gone = document.incidents[0]["absences"][0]
    certain = {"certainty": "fact", "value": last["since"]}
    stopped = document.incidents[0] | {"absences": [gone | {"gone": certain}]}
    lost = document.stalls[1] | {"until": None, "led_at": None, "elected": None, "leader_after": None}
    unknown = replace(
        document, leaderships=[first, jump], stalls=[lost], incidents=[stopped], incidents_count=1
    )
    (tmp_path / "unknown").mkdir()
    write_report(unknown, tmp_path / "unknown", Format.TEXT)
    page = opened()
    page.goto((tmp_path / "unknown" / "report.html").as_uri())
    page.wait_for_selector("html[data-ready=yes]", timeout=WAIT_MS)
    page.click("#whole")
    expect(page.locator("#rows rect.elected")).to_have_count(2)
    # The epochs jump, the last leader left when it was elected, and no line shows a later leader.
    assert len(bars(page, "led")) == 1
    assert max(*bars(page, "elected"), *bars(page, "led"), *bars(page, "lost")) < 20
    assert min(bars(page, "unseen")) > 20
    assert len(bars(page, "unseen")) == 3


def test_a_broker_that_is_gone_is_not_drawn_as_leader(
    opened: Opened, document: Document, tmp_path: Path
) -> None:
    first, *_ = document.leaderships
    assert document.end is not None
    # No other state follows, as in the logs of KRaft whose dead leader reads the next one after its return.
    alone = first | {"until": document.end, "led_at": first["since"]}
    (tmp_path / "gone").mkdir()
    write_report(replace(document, leaderships=[alone], stalls=[]), tmp_path / "gone", Format.TEXT)
    page = opened()
    page.goto((tmp_path / "gone" / "report.html").as_uri())
    page.wait_for_selector("html[data-ready=yes]", timeout=WAIT_MS)
    page.uncheck("#fold")
    page.click("#whole")
    ((led,), (unseen,)) = bars(page, "led"), bars(page, "unseen")
    # Broker 1 was lost after 03:12:02; the picture is from 03:00 to 03:15.
    assert led / (led + unseen) == pytest.approx((12 * 60 + 2) / (15 * 60), abs=0.01)


def test_who_was_elected_is_not_drawn_as_leader_before_its_own_line(
    opened: Opened, document: Document, tmp_path: Path
) -> None:
    first, none, last = document.leaderships
    assert document.start is not None
    begin, late = document.start, document.start + timedelta(minutes=4)
    rows = [
        first | {"since": begin, "led_at": late},
        none | {"leader": 2, "led_at": None, "since": first["until"]},
        last | {"leader": 3, "led_at": last["since"] - timedelta(seconds=1)},
    ]
    (tmp_path / "elected").mkdir()
    told = replace(document, leaderships=rows, stalls=[], incidents=[], incidents_count=0)
    write_report(told, tmp_path / "elected", Format.TEXT)
    page = opened()
    page.goto((tmp_path / "elected" / "report.html").as_uri())
    page.wait_for_selector("html[data-ready=yes]", timeout=WAIT_MS)
    page.uncheck("#fold")
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


def test_a_bound_is_rounded_so_that_it_stays_one(opened: Opened, document: Document, tmp_path: Path) -> None:
    duration = {"certainty": "bound", "at_least": 14_259.5, "at_most": 39_541.5}
    cost = {"partitions": ["orders-3"], "duration_ms": duration, "ending": "moved", "leaders": [2],
            "failed_elections": 0}  # fmt: skip
    late = {"costs": [cost], "text": "Broker 2 was elected controller by 03:12:08.000."}
    told = replace(document, incidents=[document.incidents[0] | late])
    (tmp_path / "rounded").mkdir()
    write_report(told, tmp_path / "rounded", Format.TEXT)
    page = opened()
    page.goto((tmp_path / "rounded" / "report.html").as_uri())
    page.wait_for_selector("html[data-ready=yes]", timeout=WAIT_MS)
    expect(page.locator(".incident.current dl .bound").last).to_have_text("at least 14.2 s, at most 39.6 s")
    expect(page.locator(".incident.current .bound").first).to_have_text("by 03:12:08.000")
    cells = page.locator("#tables table").first.locator("td").all_text_contents()
    assert cells[3:6] == ["2 min 32 s", "2 min 39 s", "2 min 32 s"]


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
    expect(page.locator("#summary")).to_contain_text(
        "Times are UTC; the logs' were read as UTC (--time-zone)."
    )
    page.select_option("#zone", "Europe/Berlin")
    expect(page.locator("#summary")).to_contain_text(
        "Times are in Europe/Berlin; the logs' were read as UTC (--time-zone)."
    )
    page.select_option("#zone", "UTC")
    expect(page.locator("#summary")).to_contain_text("Times are UTC; ")


def test_a_question_is_of_the_chosen_zone(opened: Opened) -> None:
    page = opened()
    page.select_option("#zone", "Europe/Berlin")
    page.fill("#moment", "04:12")
    page.press("#moment", "Enter")
    expect(page.locator("#answer time").first).to_have_text("04:09:00.000")


@pytest.mark.parametrize(
    ("moment", "answer"),
    [
        ("yesterday", "'yesterday' is no time: expected"),
        ("25:99", "'25:99' is no time: expected"),
        ("13-41 03:12", "'13-41 03:12' is no time: expected"),
        ("17:30", "These logs have no line at 17:30: expected"),
    ],
)
def test_a_moment_that_is_none_of_the_logs_is_answered_with_what_is_expected(
    opened: Opened, moment: str, answer: str
) -> None:
    page = opened()
    page.fill("#moment", moment)
    page.press("#moment", "Enter")
    expect(page.locator("#answer")).to_contain_text(
        f"{answer} 03:12, 03:12:08, 03:12:08.010 or 11-21 03:12, from 2026-11-21 03:00:00.000 to "
        "2026-11-21 03:15:00.000 UTC."
    )
    expect(page.locator("#answer h3").first).to_contain_text("orders-3 had no leader")
    page.fill("#moment", "03:12:08.010")
    page.press("#moment", "Enter")
    expect(page.locator("#answer")).not_to_contain_text("expected")
    expect(page.locator("#answer h3").first).to_contain_text("orders-3 had no leader")


def test_the_theme_is_chosen(opened: Opened) -> None:
    page = opened()
    colours = []
    for theme in ("light", "dark"):
        page.select_option("#theme", theme)
        colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(244, 245, 247)", "rgb(18, 21, 27)"]
    page.emulate_media(color_scheme="dark")
    page.select_option("#theme", "")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == colours[1]


def shown(page: Page) -> str:
    return page.locator("#range").inner_text()


def test_quiet_time_is_folded_unless_it_is_wanted(opened: Opened) -> None:
    page = opened()
    page.click("#whole")
    expect(page.locator("#range")).to_contain_text("03:00:00.000 to 03:15:00.000")
    folded = page.locator("#lanes .fold").count()
    assert folded >= 1
    page.uncheck("#fold")
    expect(page.locator("#lanes .fold")).to_have_count(0)
    page.keyboard.press("f")
    expect(page.locator("#lanes .fold")).to_have_count(folded)
    expect(page.locator("#fold")).to_be_checked()


def test_the_scale_goes_there_and_back(opened: Opened) -> None:
    page = opened("#orders-3")
    source = (Path(__file__).parents[4] / "analysis" / "report" / "page" / "scale.js").read_text(
        encoding="utf-8"
    )
    checked = page.evaluate(
        """([source]) => {
          const scaleOf = new Function(`${source}; return scaleOf;`)(), wrong = [];
          for (const quiet of [[], [[100, 900]], [[-50, 400], [500, 2000]], [[0, 1000]]]) {
            const scale = scaleOf(0, 1000, 128, 1128, quiet);
            let last = -1;
            for (let ms = 0; ms <= 1000; ms += 1) {
              const x = scale.x(ms);
              if (x < last || x < 128 - 1e-9 || x > 1128 + 1e-9) wrong.push([quiet, ms, x]);
              if (Math.abs(scale.time(x) - ms) > 1e-6) wrong.push([quiet, ms, scale.time(x)]);
              last = x;
            }
          }
          return wrong;
        }""",
        [source],
    )
    assert checked == []


def test_cells_of_the_shown_time_are_the_most_at_once(opened: Opened) -> None:
    page = opened("#orders-3")
    source = (Path(__file__).parents[4] / "analysis" / "report" / "page" / "strips.js").read_text(
        encoding="utf-8"
    )
    cells = page.evaluate(
        "([source]) => new Function(`${source}; return cellsOf([[0, 0], [10, 2], [12, 1], [30, 0], [39, 5], "
        "[39.5, 0]], 0, 40, 4);`)()",
        [source],
    )
    assert cells == [0, 2, 1, 5]


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
    page.keyboard.press("j")
    expect(page.locator(".incident.current")).to_contain_text("fell out of sync")
    expect(page.locator("#range")).to_contain_text("03:00:45.000 to 03:02:15.000")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(page.locator(".incident.current")).to_contain_text("Broker 1, the controller, died")
    page.keyboard.press("?")
    expect(page.locator("#keylist")).to_contain_text("the next incident")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "by-broker"
    # In a field a key is a letter.
    before = shown(page)
    page.fill("#partition", "")
    page.type("#partition", "j0f")
    assert shown(page) == before


def test_show_looks_at_an_incident(opened: Opened) -> None:
    page = opened()
    page.locator(".incident .show").nth(1).click()
    expect(page.locator("#range")).to_contain_text("03:00:45.000 to 03:02:15.000")
    expect(page.locator(".incident").nth(1)).to_have_attribute("open", "")


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
        page.locator(".incident .save").first.click()
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
    assert any(
        "after 2026-11-21 04:12:02.000, at or before 2026-11-21 04:12:08.010 (bound)" in line
        for line in lines
    )
    assert "    broker-2/state-change.log:7  [2026-11-21 03:12:08,010] <lost>" in lines


def test_more_failovers_are_loaded_when_asked_for(opened: Opened) -> None:
    page = opened()
    expect(page.locator("#stories > details")).to_have_count(20)
    page.click("#more-stories")
    expect(page.locator("#stories > details")).to_have_count(22)
    expect(page.locator("#more-stories")).to_have_count(0)


def test_a_failover_leads_to_the_incident_that_proves_it(opened: Opened) -> None:
    page = opened()
    story = page.locator("#stories > details").first
    expect(story.locator("summary")).to_contain_text(
        "Broker 1, the controller, died; 2 partitions had no leader"
    )
    page.locator("#incidents .incident").nth(1).locator("button.show").click()
    story.locator("button.proof").click()
    expect(page.locator("#incidents .incident.current")).to_contain_text("Broker 1, the controller, died")
    expect(page.locator("#incidents .incident.current pre").first).to_be_attached()


def test_files_that_are_not_there_are_named(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / FOLDER / "incident-1.js").unlink()
    page = opened()
    expect(page.locator("#trouble")).to_be_hidden()
    page.locator(".incident .show").nth(1).click()
    expect(page.locator("#trouble")).to_have_text(
        "report-detail/incident-1.js is not there; expected the folder report-detail beside this page."
    )


def test_files_of_another_report_are_not_mixed_in(opened: Opened, document: Document, tmp_path: Path) -> None:
    page = opened()
    changed = with_another_incident(document)
    write_report(replace(changed, zone="Europe/Berlin"), tmp_path, Format.TEXT)
    page.locator(".incident .show").nth(1).click()
    expect(page.locator("#trouble")).to_have_text(
        "report-detail/incident-1.js is of another report; load the page again."
    )


def test_files_of_an_earlier_report_are_deleted(document: Document, tmp_path: Path) -> None:
    write_report(with_another_incident(document), tmp_path, Format.TEXT)
    assert (tmp_path / FOLDER / "incident-1.js").exists()
    write_report(document, tmp_path, Format.TEXT)
    assert sorted(path.name for path in (tmp_path / FOLDER).iterdir()) == [
        "incident-0.js",
        "rows-0.js",
        "steps-0.js",
    ]
