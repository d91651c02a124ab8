"""The shape of the source is a test: sizes, names and docstrings. There is no exemption list."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

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


class Shape(NamedTuple):
    """What one file is judged by.

    Attributes:
        lines: The number of its lines.
        functions: The lines of its longest function of each name.
        classes: The names of its classes.
        is_explained: Whether the module has a docstring.
    """

    lines: int
    functions: dict[str, int]
    classes: list[str]
    is_explained: bool


def shape_of(path: Path) -> Shape:
    text = path.read_text()
    tree = ast.parse(text, filename=str(path))
    functions: dict[str, int] = {}
    classes = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            functions[node.name] = max(length, functions.get(node.name, 0))
        elif isinstance(node, ast.ClassDef):
            classes.append(node.name)
    return Shape(len(text.splitlines()), functions, classes, bool(ast.get_docstring(tree)))


@pytest.fixture(scope="module")
def shapes() -> dict[str, Shape]:
    """The shape of each file by its name. No tree is kept: all together are two million objects."""
    return {name(path): shape_of(path) for path in ALL_FILES}


def test_there_are_sources_to_judge() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in SOURCES} == set(PACKAGES)


def test_a_file_fits_on_a_few_screens(shapes: dict[str, Shape]) -> None:
    assert {file: each.lines for file, each in shapes.items() if each.lines > FILE_LINES_MAX} == {}


def test_nine_files_in_ten_are_short(shapes: dict[str, Shape]) -> None:
    lengths = sorted(shapes[name(path)].lines for path in SOURCES)
    assert lengths[len(lengths) * 9 // 10] <= FILE_LINES_P90


def test_a_function_fits_on_one_screen(shapes: dict[str, Shape]) -> None:
    too_long = {
        f"{file}::{function}": lines
        for file, each in shapes.items()
        for function, lines in each.functions.items()
        if lines > FUNCTION_LINES_MAX
    }
    assert too_long == {}


def test_a_class_says_what_it_is(shapes: dict[str, Shape]) -> None:
    vague = [
        f"{file}::{each}"
        for file, shape in shapes.items()
        for each in shape.classes
        if each.endswith(BANNED_ENDINGS)
    ]
    assert vague == []


def test_a_module_says_why_it_exists(shapes: dict[str, Shape]) -> None:
    assert [name(path) for path in SOURCES if not shapes[name(path)].is_explained] == []


def test_the_protocol_folder_is_no_package() -> None:
    assert not list((ROOT / "proto").rglob("*.py")), "a package named proto would shadow proto-plus"
