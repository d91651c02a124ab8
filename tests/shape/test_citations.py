"""A page that code or docs cite can be opened: it is in the repository, and so is its section."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (
    *("analysis", "barnabas", "bench", "broker", "chaos", "cluster", "controller"),
    *("docs", "proto", "scripts", "tests"),
)
SUFFIXES = (".md", ".proto", ".py", ".sh", ".yml")
PAGE = re.compile(r"[\w./-]*\w\.md\b")
SECTION = re.compile(r"(docs/[\w./-]+\.md),\s+([A-Z][\w -]+)")
LINK = re.compile(r"\]\((?!https?://)([^)#\s]+)")


def texts() -> list[Path]:
    """Files in which a page may be cited, ours alone: links to folders are not followed."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    top = [path for path in ROOT.iterdir() if path.suffix in SUFFIXES]
    return sorted(path for path in (*found, *top) if path.is_file() and path != Path(__file__))


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def headings(page: str) -> list[str]:
    return re.findall(r"^#+ (.+)$", (ROOT / page).read_text(), re.MULTILINE)


SOURCES = [path for path in texts() if path.suffix != ".md"]
PAGES = [path for path in texts() if path.suffix == ".md"]


def test_there_are_files_to_judge() -> None:
    assert len(SOURCES) > 500
    assert len(PAGES) > 15


@pytest.mark.parametrize("path", [path for path in SOURCES if ".md" in path.read_text()], ids=name)
def test_a_cited_page_and_its_section_exist(path: Path) -> None:
    text = path.read_text()
    assert [page for page in PAGE.findall(text) if "/" in page and not (ROOT / page).is_file()] == []
    # A page without a folder stands at the top or, where a test puts its path together, below docs/.
    bare = [page for page in PAGE.findall(text) if "/" not in page]
    assert [page for page in bare if not any((ROOT / top / page).is_file() for top in ("", "docs"))] == []
    missing = [
        (page, words)
        for page, words in SECTION.findall(text)
        if not any(words.startswith(heading) for heading in headings(page))
    ]
    assert missing == []


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_a_link_leads_to_a_file(path: Path) -> None:
    assert [link for link in LINK.findall(path.read_text()) if not (path.parent / link).exists()] == []
