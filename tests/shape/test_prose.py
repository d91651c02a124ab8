"""Prose begins with its subject and uses today's words (CONTRIBUTING.md, Rules)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("analysis", "barnabas", "bench", "broker", "chaos", "cluster", "controller")
FOLDERS = (*PACKAGES, "docs", "monitoring", "proto", "scripts")
TOP = ("CHANGELOG.md", "CONTRIBUTING.md", "README.md", "Makefile", "pyproject.toml")
SUFFIXES = ("", ".css", ".html", ".js", ".md", ".proto", ".py", ".sh", ".toml", ".yml")

WORDS = "anew|deposed|heard|ma(?:de|ke|kes|king) way|news|reigns?|told|under way|what becomes of|whoever"
OLD_WORDS = re.compile(rf"\b({WORDS})\b", re.IGNORECASE)
# A line that ZooKeeper's client logs.
QUOTED = ("Client session timed out, have not heard from server in",)

# The first word names no thing, so the sentence has no subject that a reader knows.
NO_SUBJECT = re.compile(
    r"(As|He|How|If|It|Its|She|Their|They|What|When|Where|Whether|Which|Who|Whom|Whose|Why)\b"
    r"|(That|These|This|Those) (are|has|have|is|was|were)\b"
)


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def is_generated(path: Path) -> bool:
    return "_pb2" in path.stem or "__pycache__" in path.parts


def texts() -> list[Path]:
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    found += [ROOT / top for top in TOP] + sorted(ROOT.glob("Dockerfile*")) + sorted(ROOT.glob("*.yml"))
    return sorted(path for path in found if path.is_file() and not is_generated(path))


SOURCES = [path for folder in PACKAGES for path in (ROOT / folder).rglob("*.py") if not is_generated(path)]


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the text of each docstring, those of attributes and constants too."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text.strip()
            case _:
                pass


def test_there_is_prose_to_judge() -> None:
    assert len(texts()) > 900
    assert sum(len(list(docstrings(path))) for path in SOURCES[:50]) > 100


def test_no_word_is_out_of_use() -> None:
    found = [
        f"{name(path)}:{number}: {line.strip()}"
        for path in texts()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if OLD_WORDS.search(line) and not any(text in line for text in QUOTED)
    ]
    assert not found, "\n".join(found)


def test_a_docstring_begins_with_its_subject() -> None:
    found = [
        f"{name(path)}:{line}: {text.splitlines()[0]}"
        for path in SOURCES
        for line, text in docstrings(path)
        if NO_SUBJECT.match(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "is_found"),
    [("The broker was told", True), ("Told so", True), ("a newsletter", False), ("foretold", False)],
)
def test_words_are_found_whole(text: str, is_found: bool) -> None:
    assert bool(OLD_WORDS.search(text)) is is_found


@pytest.mark.parametrize(
    ("text", "is_found"),
    [("It stops.", True), ("Whether it stops.", True), ("This is it.", True), ("This broker.", False)],
)
def test_only_the_first_word_is_judged(text: str, is_found: bool) -> None:
    assert bool(NO_SUBJECT.match(text)) is is_found
