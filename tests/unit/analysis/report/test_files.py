"""What is written, and what is printed."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.analysis.report.document import Document
from barnabas.analysis.report.files import Format, write_report


def test_all_forms_are_written_and_one_is_printed(
    document: Document, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_report(document, tmp_path)
    told = capsys.readouterr().out.splitlines()
    assert told[-1] == f"Open {tmp_path / 'report.html'} in a browser."
    assert told[0] == (tmp_path / "report.txt").read_text().splitlines()[0]
    write_report(document, tmp_path, Format.TEXT)
    assert capsys.readouterr().out == (tmp_path / "report.txt").read_text()
    write_report(document, tmp_path, Format.JSON)
    assert json.loads(capsys.readouterr().out) == json.loads((tmp_path / "report.json").read_text())


def test_a_terminal_gets_the_first_of_many_lines(
    document: Document, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    departed = [document.answers["departures"][0] | {"broker": number} for number in range(300)]
    write_report(
        replace(document, answers={**document.answers, "departures": departed}), tmp_path, Format.TEXT
    )
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
