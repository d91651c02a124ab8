"""The entry point of all tools: the ends by a closed pipe and by Ctrl-C."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable

SIGPIPE_CODE = 141
"""The exit code in a shell of a process that SIGPIPE ended."""

INTERRUPTED_CODE = 130
"""The exit code in a shell of a process that Ctrl-C ended."""


def run_tool(main: Callable[[], int]) -> int:
    """Return the exit code of ``main``, which a closed pipe (such as ``| head``) or Ctrl-C ends quietly.

    Text that cannot be encoded, such as an argument that is not UTF-8, is printed with backslashes.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        # At its end Python would write the buffered output and fail again.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        return SIGPIPE_CODE
    except KeyboardInterrupt:
        return INTERRUPTED_CODE
    return code
