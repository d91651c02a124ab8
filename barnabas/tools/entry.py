"""How every tool begins and ends: with what its options say, and with its exit code.

As in ``kafka.utils.CommandLineUtils`` of Kafka 2.8 the help goes to standard error with exit code 1, also
where it was asked for.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version

from barnabas.tools.options import Given, JavaError, Options, UsageError

SIGPIPE_CODE = 141
"""What a shell sees of a process that SIGPIPE ended, as other programs in a pipe are."""

INTERRUPTED_CODE = 130
"""What a shell sees of a process that Ctrl-C ended."""

KAFKA_RELEASE = "2.8.0"
"""The release whose tools these are like."""


def run_tool(main: Callable[[], int]) -> int:
    """The exit code of ``main``; a reader that has gone away, such as ``head``, and Ctrl-C just end it.

    What cannot be encoded, such as an argument that is not UTF-8, is printed with backslashes.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
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


def uncaught(error: JavaError) -> str:
    """An error as Java tells of an exception that nobody catches."""
    return f'Exception in thread "main" {error.java_class}: {error}'


def run_with_options(
    options: Options,
    purpose: str,
    arguments: Sequence[str] | None,
    work: Callable[[Given], int],
    complaint: Callable[[JavaError], str] = uncaught,
) -> int:
    """Read the command line and do what it says; the exit code, 1 where it cannot be followed.

    Args:
        options: The options of the tool.
        purpose: What stands above the help.
        arguments: The command line, None for that of the process.
        work: What the tool does; its answer is the exit code.
        complaint: How an error is told that ``work`` leaves.
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
