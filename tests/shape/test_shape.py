"""The shape of the source is a test: sizes, names and docstrings. There is no exemption list."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("analysis", "barnabas", "bench", "broker", "chaos", "cluster", "controller")
FILE_LINES_MAX = 500
FILE_LINES_P90 = 300
FUNCTION_LINES_MAX = 60
BANNED_ENDINGS = ("Manager", "Helper", "Helpers", "Util", "Utils")


def is_generated(path: Path) -> bool:
    return path.parent == ROOT / "cluster" / "rpc" and "_pb2" in path.stem


def python_files(*folders: str) -> list[Path]:
    return [
        path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")) if not is_generated(path)
    ]


SOURCES = python_files(*PACKAGES)
ALL_FILES = SOURCES + python_files("tests", "scripts")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), filename=str(path))


def test_there_are_sources_to_judge() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in SOURCES} == set(PACKAGES)


@pytest.mark.parametrize("path", ALL_FILES, ids=name)
def test_a_file_fits_on_a_few_screens(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= FILE_LINES_MAX


def test_nine_files_in_ten_are_short() -> None:
    lengths = sorted(len(path.read_text().splitlines()) for path in SOURCES)
    assert lengths[len(lengths) * 9 // 10] <= FILE_LINES_P90


@pytest.mark.parametrize("path", ALL_FILES, ids=name)
def test_a_function_fits_on_one_screen(path: Path) -> None:
    too_long = {
        node.name: (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno + 1 > FUNCTION_LINES_MAX
    }
    assert not too_long


@pytest.mark.parametrize("path", ALL_FILES, ids=name)
def test_a_class_says_what_it_is(path: Path) -> None:
    vague = [
        node.name
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef) and node.name.endswith(BANNED_ENDINGS)
    ]
    assert not vague


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_module_says_why_it_exists(path: Path) -> None:
    assert ast.get_docstring(tree(path))


def test_the_protocol_folder_is_no_package() -> None:
    assert not list((ROOT / "proto").rglob("*.py")), "a package named proto would shadow proto-plus"
