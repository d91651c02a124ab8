"""What is written, and what is printed."""

from __future__ import annotations

import errno
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.analysis.report.document import Document
from barnabas.analysis.report.files import Format, NotPrintedError, folded, write_report


def test_all_forms_are_written_and_one_is_printed(
    document: Document, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_report(document, tmp_path)
    told = capsys.readouterr().out.splitlines()
    assert told[-1] == f"Open {tmp_path / 'report.html'} in a browser."
    assert told[0].startswith(document.incidents[0]["text"])
    write_report(document, tmp_path, Format.TEXT)
    assert capsys.readouterr().out == (tmp_path / "report.txt").read_text()
    write_report(document, tmp_path, Format.JSON)
    assert json.loads(capsys.readouterr().out) == json.loads((tmp_path / "report.json").read_text())


def test_a_terminal_gets_the_first_of_many_lines(
    document: Document, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (incident,) = document.incidents
    many = [{**incident["absences"][0], "broker": number} for number in range(300)]
    write_report(replace(document, incidents=[{**incident, "absences": many}]), tmp_path, Format.TEXT)
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 201
    assert told[-1].endswith(f"lines more in {tmp_path / 'report.txt'}")


def test_letters_that_a_terminal_does_not_know_end_no_report(
    document: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(screen, "ascii"))
    write_report(replace(document, troubles=["zażółć.log: no access"]), tmp_path, Format.TEXT)
    assert b"Could not read all of za????.log: no access." in screen.getvalue()


@pytest.mark.parametrize("form", Format)
def test_a_full_standard_output_is_no_failure_to_write_the_report(
    document: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: Format
) -> None:
    class Full(io.StringIO):
        def flush(self) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sys.stdout", Full())
    with pytest.raises(NotPrintedError) as raised:
        write_report(document, tmp_path, form)
    assert str(raised.value) == (
        f"cannot print the report: No space left on device; all of it is in {str(tmp_path)!r}"
    )
    assert (tmp_path / "report.json").stat().st_size


def test_lines_are_folded_between_words_below_the_text_of_their_column() -> None:
    timeline = "  03:12:06.505  leader      orders-0: leader 1 -> 2 (epoch 2): leader was lost, as was told"
    assert folded(timeline, 60) == [
        "  03:12:06.505  leader      orders-0: leader 1 -> 2 (epoch",
        "                            2): leader was lost, as was told",
    ]
    sentence = "Broker 1, the controller, was lost between 03:12:00.030 and 03:12:06.505 (no shutdown)."
    assert folded(sentence, 60) == [
        "Broker 1, the controller, was lost between 03:12:00.030 and",
        "  03:12:06.505 (no shutdown).",
    ]
    assert folded("short", 60) == ["short"]
    path = f"Open /{'a' * 90}/report.html in a browser."
    assert folded(path, 60) == ["Open", f"  /{'a' * 90}/report.html", "  in a browser."]


def test_a_narrow_terminal_gets_more_than_a_column_of_letters() -> None:
    assert max(map(len, folded("one two three four five six seven eight nine ten eleven", 5))) > 30


def test_only_a_terminal_gets_folded_lines(
    document: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "80")
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    write_report(document, tmp_path, Format.TEXT)
    whole = (tmp_path / "report.txt").read_text()
    shown = screen.getvalue()
    assert max(map(len, whole.splitlines())) > 80
    assert all(len(line) <= 80 or len(line.split()) == 1 for line in shown.splitlines())
    assert shown.split() == whole.split()
