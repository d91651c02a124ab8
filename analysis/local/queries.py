"""Queries: the SQL of frames, in which each frame stands once, however many others are made from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pyarrow as pa

from barnabas.analysis.local.columns import text

_READ = "FROM read_parquet("


class Query:
    """A query in SQL that selects from others.

    Args:
        parts: The text of the query, in pieces, between which the queries stand that it selects from.
    """

    def __init__(self, *parts: str | Query) -> None:
        self.parts = parts

    def inputs(self) -> Iterator[Query]:
        """Iterate over the queries that it selects from, with repetitions."""
        return (part for part in self.parts if isinstance(part, Query))


class Given(Query):
    """A query for the rows of a table in memory.

    Args:
        rows: The table.
    """

    def __init__(self, rows: pa.Table) -> None:
        super().__init__()
        self.rows = rows


class Stored(Query):
    """A query for the rows of a table in a local folder.

    Args:
        folder: The folder with files of Parquet.
    """

    def __init__(self, folder: Path) -> None:
        files = ", ".join(text(str(file)) for file in sorted(folder.absolute().glob("*.parquet")))
        super().__init__(f"{_READ}[{files}])")


def written(query: Query) -> tuple[str, dict[str, pa.Table]]:
    """Write a query with all that it needs.

    Returns:
        The SQL, and the tables in memory by the names that it has for them.
    """
    ordered, uses = _needed(query)
    given = {each: f"given{place}" for place, each in enumerate(ordered) if isinstance(each, Given)}
    # Of a table in a folder each use reads the columns that it needs; a shared query keeps all columns.
    shareable = ((place, each) for place, each in enumerate(ordered) if not isinstance(each, Stored))
    names = {each: f"shared{place}" for place, each in shareable if uses[each] > 1} | given
    texts: dict[Query, str] = dict(given.items())
    shared = []
    for each in ordered:
        if each in given:
            continue
        sql = "".join(part if isinstance(part, str) else _place(part, names, texts) for part in each.parts)
        texts[each] = sql
        if each in names:
            shared.append(f"{names[each]} AS ({sql})")
    head = f"WITH {', '.join(shared)} " if shared else ""
    return head + texts[query], {name: each.rows for each, name in given.items()}


def reads_files(sql: str) -> bool:
    """Return whether a query selects from tables in folders."""
    return _READ in sql


def _place(query: Query, names: dict[Query, str], texts: dict[Query, str]) -> str:
    return names[query] if query in names else f"({texts[query]})"


def _needed(query: Query) -> tuple[list[Query], Counter[Query]]:
    """Return the queries that one needs, each after those that it selects from, and each one's uses."""
    inputs: dict[Query, list[Query]] = {}
    ahead = [query]
    while ahead:
        each = ahead.pop()
        if each not in inputs:
            inputs[each] = list(each.inputs())
            ahead.extend(inputs[each])
    uses = Counter(used for several in inputs.values() for used in several)
    return list(TopologicalSorter(inputs).static_order()), uses
