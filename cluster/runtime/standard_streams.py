"""Standard input, output and error of a process that was started without some of them.

The first file that such a process opens gets the number of the missing stream: a log segment numbered 2 takes
in whatever a library prints to standard error.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))
"""By descriptor: the name in ``sys``, and the mode."""


def open_missing() -> None:
    """Open the null device in the place of each standard stream that is closed; to be called first of all."""
    for descriptor, (name, mode) in enumerate(_STREAMS):
        try:
            os.fstat(descriptor)
        except OSError:
            # The system gives the lowest free number, and those below are open by now.
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
