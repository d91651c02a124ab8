"""No packages import one another, neither two directly nor several in a circle.

A package is the modules that stand directly in one folder, its ``__init__`` among them. A folder inside is a
package of its own: so a parent imports its subpackages or they import it, never both. Imports inside
functions and those for types alone count as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

import grimp
import pytest

Edge = tuple[str, str]


def package_edges(imports: Iterable[Edge], packages: set[str]) -> dict[Edge, list[Edge]]:
    """The imports behind each pair of packages of which the first imports from the second."""

    def package(module: str) -> str:
        return module if module in packages else module.rpartition(".")[0]

    edges: dict[Edge, list[Edge]] = {}
    for importer, imported in imports:
        if package(importer) != package(imported):
            edges.setdefault((package(importer), package(imported)), []).append((importer, imported))
    return edges


def circle(edges: Iterable[Edge]) -> list[str]:
    """Packages of which each imports from the next, and the last is the first; empty if there are none."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for importer, imported in edges:
        sorter.add(importer, imported)
    try:
        sorter.prepare()
    except CycleError as error:
        # graphlib gives the circle from what is imported to what imports it.
        return list(reversed(error.args[1]))
    return []


def test_no_packages_import_one_another() -> None:
    graph = grimp.build_graph("barnabas", cache_dir=None)
    packages = {module for module in graph.modules if graph.find_children(module)}
    imports = [
        (importer, imported)
        for importer in graph.modules
        for imported in graph.find_modules_directly_imported_by(importer)
    ]
    edges = package_edges(imports, packages)
    assert {"barnabas", "barnabas.bench", "barnabas.bench.cases", "barnabas.broker.core.group"} < packages
    assert len(edges) > len(packages)
    found = circle(edges)
    assert not found, {pair: edges[pair] for pair in pairwise(found)}


@pytest.mark.parametrize(
    ("imports", "expected"),
    [
        ([("a.x", "a.b.y"), ("a.b.y", "a.c.z")], []),
        # A module and a subpackage of one folder.
        ([("a.x", "a.b.y"), ("a.b.y", "a.w")], ["a", "a.b"]),
        # What stands in __init__ belongs to the package.
        ([("a.b", "a.c.z"), ("a.c.z", "a.b")], ["a.b", "a.c"]),
        ([("a.x", "a.b.y"), ("a.b.y", "a.c.z"), ("a.c.z", "a.w")], ["a", "a.b", "a.c"]),
        # Modules of one package may import one another.
        ([("a.x", "a.w"), ("a.w", "a.x")], []),
    ],
)
def test_a_circle_is_found(imports: list[Edge], expected: list[str]) -> None:
    found = circle(package_edges(imports, {"a", "a.b", "a.c"}))
    assert sorted(set(found)) == expected
    assert found[:1] == found[-1:]
