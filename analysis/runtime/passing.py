"""Results of Spark's tasks on their way to this process; many rows go through a file instead of Java."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa

_BYTES_MAX = 1024 * 1024
"""The largest size of rows that go through Java, which is quicker for few."""


def sent(result: Any, folder: Path) -> Any:
    """Return what a task sends: a result as it is, or the file in ``folder`` into which it wrote its rows."""
    if not isinstance(result, pa.Table) or result.nbytes <= _BYTES_MAX:
        return result
    file = folder / f"{uuid4().hex}.arrow"
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, result.schema) as writer:
        writer.write_table(result)
    return file


def received(result: Any) -> Any:
    """Return the result of a task from what it sent, and remove the file."""
    if not isinstance(result, Path):
        return result
    # The rows stay in the file, of which the system keeps in memory what it can, until nothing needs them.
    with pa.memory_map(str(result)) as source:
        rows = pa.ipc.open_file(source).read_all()
    result.unlink()
    return rows
