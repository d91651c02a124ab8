"""What is pasted into tickets: the conditions that a few lines of one file show, and no others.

``tests/data/conditions/tickets.log`` has a section for each: its headlines in order, each with its alarm, and
then the lines.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from barnabas.analysis.conditions.catalogue import CATALOGUE
from barnabas.analysis.conditions.findings import findings
from barnabas.analysis.derived.store import derive_here
from barnabas.analysis.runtime.engine import in_this_process, rows_of
from barnabas.analysis.scan import write_few_events
from barnabas.analysis.sources import find

_SECTIONS = re.split(
    r"^=== ", Path("tests/data/conditions/tickets.log").read_text(encoding="utf-8"), flags=re.MULTILINE
)[1:]


@pytest.mark.parametrize("ticket", _SECTIONS, ids=lambda text: text.split("\n", 1)[0])
def test_a_ticket_names_its_conditions(ticket: str, tmp_path: Path) -> None:
    _, *lines = ticket.splitlines(keepends=True)
    expected = [line.removeprefix("> ").rstrip() for line in lines if line.startswith("> ")]
    log = tmp_path / "server.log"
    log.write_text("".join(lines[len(expected) :]), encoding="utf-8")
    write_few_events(find([log]), tmp_path / "tables" / "events")
    with in_this_process(), derive_here(tmp_path / "tables") as tables:
        found = findings([*rows_of(tables["conditions"]), *rows_of(tables["computed_conditions"])], CATALOGUE)
    assert [f"{each.condition.alarm.name} {each.headline}" for each in found] == expected
