"""Command lines as the library argparse4j reads them for Kafka's tools in Java.

Unlike in Python's argparse, an error has the exit code 1, and an empty command line prints the help with
exit code 0. The messages are the same except for their line breaks.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """A parser of a command line.

    Args:
        name: The name of the tool in its messages.
        purpose: The text in the help.
    """

    def __init__(self, name: str, purpose: str) -> None:
        super().__init__(prog=name, description=purpose, allow_abbrev=False)
        self._needed: list[str] = []

    def need(self, *names: str) -> None:
        """Declare options as required; they are checked in the given order."""
        self._needed += names

    def parse(self, arguments: Sequence[str] | None) -> argparse.Namespace:
        """Parse a command line; None for that of the process.

        Raises:
            SystemExit: The help was printed, or an error.
        """
        words = list(sys.argv[1:] if arguments is None else arguments)
        if not words:
            self.print_help()
            raise SystemExit(0)
        found = self.parse_args(words)
        for name in self._needed:
            if getattr(found, name.removeprefix("--").replace("-", "_")) is None:
                self.error(f"argument {name} is required")
        return found

    def error(self, message: str) -> NoReturn:
        """Print the usage and an error, and end with 1."""
        sys.stderr.write(f"{self.format_usage()}{self.prog}: error: {message}\n")
        raise SystemExit(1)


def integer(text: str) -> int:
    """Convert a value to 32 bits."""
    return _number(text, 32, "Integer")


def long(text: str) -> int:
    """Convert a value to 64 bits."""
    return _number(text, 64, "Long")


def _number(text: str, bits: int, name: str) -> int:
    if not re.fullmatch("[+-]?[0-9]+", text) or not -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1):
        raise argparse.ArgumentTypeError(
            f"could not convert '{text}' to {name} (For input string: \"{text}\")"
        )
    return int(text)
