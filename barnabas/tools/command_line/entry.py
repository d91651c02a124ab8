"""The entry point of all tools: reading options, reporting errors and returning the exit code.

As in ``kafka.utils.CommandLineUtils`` of Kafka 2.8, the help goes to standard error with exit code 1, even
after ``--help``.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version

from barnabas.tools.command_line.options import Given, JavaError, Options, UsageError

SIGPIPE_CODE = 141
"""The exit code in a shell of a process that SIGPIPE ended."""

INTERRUPTED_CODE = 130
"""The exit code in a shell of a process that Ctrl-C ended."""

KAFKA_RELEASE = "2.8.0"
"""The Kafka release that the tools follow."""


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


def uncaught(error: JavaError) -> str:
    """Format an error like an uncaught exception of Java."""
    return f'Exception in thread "main" {error.java_class}: {error}'


def run_with_options(
    options: Options,
    purpose: str,
    arguments: Sequence[str] | None,
    work: Callable[[Given], int],
    complaint: Callable[[JavaError], str] = uncaught,
) -> int:
    """Read the command line, run ``work``, and return the exit code; 1 for an invalid command line.

    Args:
        options: The options of the tool.
        purpose: The text above the help.
        arguments: The command line; None for that of the process.
        work: Runs the tool and returns the exit code.
        complaint: Formats an error that ``work`` raises.
    """
    words = sys.argv[1:] if arguments is None else arguments
    try:
        given = options.parse(words)
        if not words or given.has("help"):
            raise UsageError(purpose)
        if given.has("version"):
            sys.stdout.write(f"{KAFKA_RELEASE} (Commit:barnabas-{version('barnabas')})\n")
            return 0
        return work(given)
    except UsageError as error:
        sys.stderr.write(f"{error}\n{options.usage()}\n")
    except JavaError as error:
        sys.stderr.write(f"{complaint(error)}\n")
    return 1
