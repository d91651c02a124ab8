"""The command lines of all tools: argparse, with the exit codes of Kafka's tools.

Names of options and exit codes are Kafka's, the words of usage errors are argparse's. A value follows ``=``
or a blank; one that begins with a dash and is no number needs ``=``.
"""

from __future__ import annotations

import argparse
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import IO, NoReturn

from barnabas.tools.command_line.entry import run_tool
from barnabas.tools.command_line.servers import parse_servers

KAFKA_RELEASE = "2.8.0"
"""The Kafka release that the tools follow."""


class ToolError(Exception):
    """An error that ends a tool with exit code 1; its message goes to standard error."""


class UsageError(Exception):
    """An error for options that do not fit together, which is printed below the usage."""


class Parser(argparse.ArgumentParser):
    """A parser of a tool's command line.

    Args:
        tool: The name of the tool.
        purpose: The text in the help.
        help_code: The exit code after the help, which follows ``--help`` and an empty command line. 1, as in
            ``kafka.utils.CommandLineUtils``, sends it to standard error; Kafka's tools in Java have 0.
    """

    def __init__(self, tool: str, purpose: str, *, help_code: int = 1) -> None:
        super().__init__(prog=tool, description=purpose, allow_abbrev=False)
        self._help_code = help_code
        release = f"{KAFKA_RELEASE} (Commit:barnabas-{version('barnabas')})"
        self.add_argument("--version", action="version", version=release)

    def parse(self, arguments: Sequence[str] | None) -> Namespace:
        """Parse a command line; None for that of the process.

        Raises:
            SystemExit: The help was printed, or an error.
        """
        words = sys.argv[1:] if arguments is None else arguments
        if not words:
            self.print_help()
        # Kafka's tools also take an option with one dash.
        return self.parse_args([re.sub("^-(?=[a-z]{2})", "--", word) for word in words])

    def add_servers(
        self, *names: str, config: str | None = "--command-config", is_required: bool = True
    ) -> None:
        """Add the options of the client.

        Args:
            names: Older names of ``--bootstrap-server``.
            config: The name of the option for a file of properties; None for none.
            is_required: Whether servers must be given.
        """
        self.add_argument(
            "--bootstrap-server",
            *names,
            required=is_required,
            type=_servers,
            metavar="HOST:PORT,...",
            help="brokers of the cluster",
        )
        if config is not None:
            self.add_argument(
                config,
                dest=config.strip("-").replace("-", "_").replace(".", "_"),
                metavar="FILE",
                help="properties of the client",
            )

    def add_switches(self, **switches: str) -> None:
        """Add options without a value, each with its help; ``_`` stands for a dash in a name."""
        _add_switches(self, switches)

    def add_lists(self, **lists: str) -> None:
        """Add options with a value that may be repeated."""
        for name, text in lists.items():
            self.add_argument(
                f"--{name.replace('_', '-')}", action="append", default=[], help=f"{text}; may be repeated"
            )

    def add_actions(self, **actions: str) -> None:
        """Add options without a value, of which exactly one must be given."""
        _add_switches(self.add_mutually_exclusive_group(required=True), actions)

    def main(self, work: Callable[[Namespace], int]) -> Callable[..., int]:
        """Decorate the work of a tool, which gets the options and returns the exit code.

        Returns:
            The function that runs the tool: it takes the words of a command line, by default those of the
            process, and returns the exit code, which is 1 for an error.
        """

        def run(arguments: Sequence[str] | None = None) -> int:
            return run_tool(lambda: self._run(arguments, work))

        return run

    def _run(self, arguments: Sequence[str] | None, work: Callable[[Namespace], int]) -> int:
        try:
            flags = self.parse(arguments)
            try:
                return work(flags)
            except UsageError as error:
                self.error(str(error))
        except ToolError as error:
            sys.stdout.flush()
            sys.stderr.write(f"{self.prog}: {error}\n")
            return 1
        except SystemExit as end:
            return int(end.code or 0)

    def print_help(self, file: IO[str] | None = None) -> NoReturn:  # type: ignore[override]
        """Print the help, and end."""
        super().print_help(file or (sys.stderr if self._help_code else sys.stdout))
        raise SystemExit(self._help_code)

    def error(self, message: str) -> NoReturn:
        """Print the usage and an error, and end with 1 instead of argparse's 2."""
        self.print_usage(sys.stderr)
        sys.stderr.write(f"{self.prog}: error: {message}\n")
        raise SystemExit(1)


def _add_switches(where: argparse._ActionsContainer, switches: Mapping[str, str]) -> None:
    for name, text in switches.items():
        where.add_argument(f"--{name.replace('_', '-')}", action="store_true", help=text)


def _servers(text: str) -> str:
    parse_servers(text)
    return text


def integer(text: str) -> int:
    """Convert a value to 32 bits."""
    return _number(text, 32)


def long(text: str) -> int:
    """Convert a value to 64 bits."""
    return _number(text, 64)


def _number(text: str, bits: int) -> int:
    if not re.fullmatch("[+-]?[0-9]+", text) or not -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of {bits} bits")
    return int(text)


def has(flags: Namespace, name: str) -> bool:
    """Return whether an option without a default was given."""
    value = getattr(flags, name.replace("-", "_").replace(".", "_"))
    return value is not None and value is not False and value != []


def require(flags: Namespace, *names: str) -> None:
    """Check that all the options were given.

    Raises:
        UsageError: One of them is missing.
    """
    missing = [f"--{name}" for name in names if not has(flags, name)]
    if missing:
        raise UsageError(f"the following arguments are required: {', '.join(missing)}")


def refuse_together(flags: Namespace, used: str, others: Iterable[str]) -> None:
    """Check that none of ``others`` was given beside ``used``.

    Raises:
        UsageError: The first one that was.
    """
    for other in others:
        if has(flags, used) and has(flags, other):
            raise UsageError(f"argument --{other}: not allowed with argument --{used}")


def key_values(texts: Iterable[str]) -> dict[str, str]:
    """Parse properties ``key=value``; without ``=`` the value is empty (``parseKeyValueArgs``)."""
    return {name: value for name, _, value in (text.partition("=") for text in texts)}
