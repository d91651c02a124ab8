"""The architecture, the tour and the glossary name what is there, and their diagrams are up to date."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOPS = ("analysis", "barnabas", "bench", "broker", "chaos", "cluster", "controller")
ARCHITECTURE = ROOT / "docs" / "architecture.md"
PAGES = [ARCHITECTURE, ROOT / "docs" / "glossary.md", *sorted((ROOT / "docs" / "tour").glob("*.md"))]
PATH = re.compile(rf"(?<![\w./-])(?:{'|'.join(TOPS)}|docs|proto|scripts|tests)/[\w./-]*\w")
NAME = re.compile(r"\[`([\w.]+)`\]\(([\w./-]+\.py)\)")
ROW = re.compile(r"^\| `([\w/]+)`", re.MULTILINE)


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def defined(path: Path) -> set[str]:
    """The names of the classes, functions, methods and constants of a file."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                names.add(node.name)
            case ast.Assign():
                names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
            case _:
                pass
    return names


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_path_that_is_named_exists(page: Path) -> None:
    named = PATH.findall(page.read_text())
    assert [path for path in named if not any((ROOT / f"{path}{end}").exists() for end in ("", ".py"))] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_linked_name_is_defined_in_the_file_that_the_link_leads_to(page: Path) -> None:
    links = [(known, page.parent / path) for known, path in NAME.findall(page.read_text())]
    assert [(known, path) for known, path in links if not path.is_file() or known not in defined(path)] == []


def test_the_tour_links_to_names() -> None:
    assert sum(len(NAME.findall(page.read_text())) for page in PAGES) > 30


def test_each_package_has_its_row() -> None:
    packages = {
        name(folder)
        for top in TOPS
        for folder in (ROOT / top, *(ROOT / top).rglob("*"))
        if (folder / "__init__.py").is_file() and not folder.is_symlink()
    }
    rows = [row for row in ROW.findall(ARCHITECTURE.read_text()) if row.split("/")[0] in TOPS]
    assert set(rows) == packages, "docs/architecture.md has a row for each package and no other"


def test_each_decision_is_listed_by_its_title() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    titles = [(page.name, page.read_text().splitlines()[0].removeprefix("# ")) for page in pages]
    listed = re.findall(r"^- \[(.+)\]\(decisions/(.+)\)$", ARCHITECTURE.read_text(), re.MULTILINE)
    assert [(file, title) for title, file in listed] == titles


def test_the_diagrams_show_the_source_as_it_is() -> None:
    command = [sys.executable, "-P", str(ROOT / "scripts" / "diagrams"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), "run make diagrams"


def test_the_version_and_the_changelog_agree() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    heading = re.search(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heading is not None
    number, _, when = heading[1].partition(" - ")
    assert version == (f"{number}.dev0" if when == "unreleased" else number)


def test_each_tool_is_a_command_of_the_package() -> None:
    scripts = {path.name for path in (ROOT / "scripts").glob("*.sh")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"].keys() == scripts | {"barnabas"}
    for target in project["scripts"].values():
        module, _, function = target.partition(":")
        assert function in defined(ROOT / f"{module.replace('.', '/')}.py"), target
