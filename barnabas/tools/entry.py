"""How every tool ends: with its exit code, and quietly where nobody reads on."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

SIGPIPE_CODE = 141
"""What a shell sees of a process that SIGPIPE ended, as other programs in a pipe are."""

INTERRUPTED_CODE = 130
"""What a shell sees of a process that Ctrl-C ended."""


def run_tool(main: Callable[[], int]) -> int:
    """The exit code of ``main``; a reader that has gone away, such as ``head``, and Ctrl-C just end it."""
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered would be written, and fail again, when Python ends.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        return SIGPIPE_CODE
    except KeyboardInterrupt:
        return INTERRUPTED_CODE
    return code
