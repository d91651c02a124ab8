"""Replacement of standard streams that are closed when a process starts.

Without it the first file that the process opens would get the number of the missing stream: a log segment
with file descriptor 2 would receive what libraries print to standard error.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))
"""The name in ``sys`` and the mode of each stream, by descriptor."""


def open_missing() -> None:
    """Open the null device for each closed standard stream; must be called before anything opens a file."""
    for descriptor, (name, mode) in enumerate(_STREAMS):
        try:
            os.fstat(descriptor)
        except OSError:
            # The system assigns the lowest free number, and the lower ones are open by now.
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
