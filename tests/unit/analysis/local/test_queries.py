"""The SQL of queries that select from others."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from barnabas.analysis.local.queries import Given, Query, Stored, reads_files, written

ROWS = pa.table({"a": [1]})


def test_a_query_is_its_text() -> None:
    assert written(Query("SELECT 1")) == ("SELECT 1", {})


def test_a_query_that_is_used_once_stands_where_it_is_used() -> None:
    inner = Query("SELECT 1 AS a")
    assert written(Query("SELECT a FROM ", inner, " WHERE a > 0")) == (
        "SELECT a FROM (SELECT 1 AS a) WHERE a > 0",
        {},
    )


def test_a_query_that_several_use_is_written_once() -> None:
    shared = Query("SELECT 1 AS a")
    left, right = Query("FROM ", shared), Query("SELECT a + 1 AS a FROM ", shared)
    sql, _ = written(Query("FROM ", left, " UNION ALL FROM ", right))
    assert sql.count("SELECT 1 AS a") == 1
    name = sql.split()[1]
    assert sql == (
        f"WITH {name} AS (SELECT 1 AS a) FROM (FROM {name}) UNION ALL FROM (SELECT a + 1 AS a FROM {name})"
    )


def test_a_query_that_one_uses_twice_is_written_once() -> None:
    shared = Query("SELECT 1 AS a")
    sql, _ = written(Query("FROM ", shared, " AS l JOIN ", shared, " AS r USING (a)"))
    assert sql.count("SELECT 1 AS a") == 1


def test_equal_queries_are_two() -> None:
    sql, _ = written(Query("FROM ", Query("SELECT 1"), " UNION ALL FROM ", Query("SELECT 1")))
    assert sql == "FROM (SELECT 1) UNION ALL FROM (SELECT 1)"


def test_shared_queries_come_before_those_that_select_from_them() -> None:
    first = Query("SELECT 1 AS a")
    second = Query("FROM ", first, " AS l JOIN ", first, " AS r USING (a)")
    third = Query("FROM ", second, " AS l JOIN ", second, " AS r USING (a)")
    sql, _ = written(Query("FROM ", third, ", ", first))
    names = [part.split()[-1] for part in sql.split(" AS (")[:-1]]
    assert len(set(names)) == 2
    assert (
        sql.index("SELECT 1 AS a") < sql.index(f"FROM {names[0]} AS l") < sql.index(f"FROM {names[1]} AS l")
    )


def test_the_length_of_a_query_does_not_double_with_each_use() -> None:
    query = Query("SELECT 1 AS a")
    for _ in range(40):
        query = Query("FROM ", query, " AS l JOIN ", query, " AS r USING (a)")
    sql, _ = written(query)
    assert len(sql) < 40 * 100


def test_a_long_chain_of_queries_is_written() -> None:
    query = Query("SELECT 1 AS a")
    for _ in range(2000):
        query = Query("FROM ", query)
    sql, _ = written(query)
    assert sql.count("FROM") == 2000


def test_a_given_table_has_one_name() -> None:
    given, other = Given(ROWS), Given(ROWS)
    sql, tables = written(Query("FROM ", given, ", ", given, ", ", other))
    _, one, again, another = sql.replace(",", "").split()
    assert one == again != another
    assert set(tables) == {one, another}
    assert all(rows is ROWS for rows in tables.values())


def test_a_given_table_is_named_alone() -> None:
    given = Given(ROWS)
    sql, tables = written(Query("FROM ", Query("FROM ", given)))
    (name,) = tables
    assert sql == f"FROM (FROM {name})"


def test_a_stored_table_is_read_from_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "it's"
    folder.mkdir()
    for name in ("b.parquet", "a.parquet"):
        pq.write_table(ROWS, folder / name)
    (folder / "_SUCCESS").touch()
    sql, tables = written(Stored(folder))
    quoted = str(folder).replace("'", "''")
    assert sql == f"FROM read_parquet(['{quoted}/a.parquet', '{quoted}/b.parquet'])"
    assert tables == {}


def test_a_query_reads_files_if_a_table_is_in_a_folder(tmp_path: Path) -> None:
    both = Query("FROM ", Given(ROWS), " UNION ALL FROM ", Stored(tmp_path))
    assert [reads_files(written(each)[0]) for each in (both, Query("FROM ", Given(ROWS)))] == [True, False]


def test_the_inputs_of_a_query_are_those_between_its_texts() -> None:
    one, other = Query("SELECT 1"), Query("SELECT 2")
    assert list(Query("FROM ", one, ", ", other, ", ", one).inputs()) == [one, other, one]
    assert list(one.inputs()) == []


def test_a_table_in_a_folder_is_read_again_for_each_use(tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "part-0.parquet")
    table = Stored(tmp_path)
    sql, _ = written(Query("FROM ", table, " AS l JOIN ", table, " AS r USING (a)"))
    assert sql.count("read_parquet") == 2
