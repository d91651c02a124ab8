"""The file that holds a running broker's process id."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from barnabas.broker.config.start_error import StartError


@contextmanager
def pid_file(path: Path | None) -> Iterator[None]:
    """Keep this process's id in ``path`` while the block runs; with None, do nothing.

    The file is removed at the end unless another process has put its own id there.

    Raises:
        StartError: The file cannot be written.
    """
    if path is None:
        yield
        return
    own = f"{os.getpid()}\n"
    try:
        path.write_text(own, encoding="ascii")
    except OSError as error:
        raise StartError(f"Cannot write pid.file {path}: {error.strerror}") from error
    try:
        yield
    finally:
        if path.is_file() and path.read_text(encoding="ascii") == own:
            path.unlink()
