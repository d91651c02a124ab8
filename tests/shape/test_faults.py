"""docs/faults.md is true: the tests it names exist, and the table of Kafka's bugs lists every bug named."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
BUG = re.compile(r"KAFKA-\d+")


@dataclass(frozen=True)
class Row:
    """A row of the table: its bugs, what is said of them, and the tests, each as ``path::name``."""

    bugs: tuple[str, ...]
    happened: str
    done: str
    tests: tuple[str, ...]


def rows() -> list[Row]:
    lines = (ROOT / "docs" / "faults.md").read_text().splitlines()
    table = [line.strip("|").split(" | ") for line in lines if line.startswith("| KAFKA-")]
    return [
        Row(tuple(BUG.findall(bugs)), happened.strip(), done.strip(), tuple(re.findall(r"`(.+?)`", tests)))
        for bugs, happened, done, tests in table
    ]


def words_of(test: str) -> str:
    """The name and the docstring of a test; none where there is no such test."""
    path, _, name = test.partition("::")
    if not (TESTS / path).is_file():
        return ""
    for node in ast.walk(ast.parse((TESTS / path).read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return f"{name} {ast.get_docstring(node)}"
    return ""


ROWS = rows()


def test_the_table_is_read() -> None:
    assert len(ROWS) > 20
    assert len({bug for row in ROWS for bug in row.bugs}) == sum(len(row.bugs) for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.bugs[0])
def test_each_bug_has_its_test(row: Row) -> None:
    assert row.happened
    assert row.done
    assert row.tests
    assert all(name.startswith("test_") for _, _, name in (test.partition("::") for test in row.tests))
    named = {test: BUG.findall(words_of(test)) for test in row.tests}
    assert [test for test, bugs in named.items() if not set(bugs) & set(row.bugs)] == []
    assert {bug for bugs in named.values() for bug in bugs} >= set(row.bugs)


def test_each_bug_that_a_test_names_is_in_the_table() -> None:
    listed = {bug for row in ROWS for bug in row.bugs}
    named = {
        bug: path
        for path in sorted(TESTS.rglob("*.py"))
        if path != Path(__file__)
        for bug in BUG.findall(path.read_text())
    }
    assert {bug: path for bug, path in named.items() if bug not in listed} == {}


def found_here() -> list[Row]:
    """The rows of the table of faults that were found in Barnabas itself."""
    _, _, section = (ROOT / "docs" / "faults.md").read_text().partition("## Found in Barnabas\n")
    table = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    assert all(len(cells) == 3 for cells in table), [cells for cells in table if len(cells) != 3]
    return [
        Row((), happened.strip(), done.strip(), tuple(re.findall(r"`(.+?)`", tests)))
        for happened, done, tests in table
        if happened.strip() != "What happened"
    ]


@pytest.mark.parametrize("row", found_here(), ids=lambda row: row.happened[:60])
def test_each_fault_found_here_has_its_test(row: Row) -> None:
    assert row.happened
    assert row.done
    assert row.tests
    assert [test for test in row.tests if not words_of(test)] == []
