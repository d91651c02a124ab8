"""The options of Kafka's tools: parsing, errors and help.

Rules and messages are those of joptsimple 5.0.4, which Kafka uses. An option has one or two dashes. Its value
follows ``=`` or a blank and may look like an option, unless it is optional. Words that are not options are
ignored. A value is checked when it is read. Sources: ``joptsimple.OptionParser``,
``ExceptionMessages.properties``, ``BuiltinHelpFormatter``.
"""

from __future__ import annotations

import re
import textwrap
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import SimpleNamespace

HELP_WIDTH = 80
"""The width of the help in characters."""

_GAP = 2
"""The spaces between the columns of the help, and before a continued line."""


class JavaError(Exception):
    """An error that ends a tool of Kafka as an uncaught exception.

    Attributes:
        java_class: The class name in Kafka.
    """

    def __init__(self, java_class: str, message: str) -> None:
        super().__init__(message)
        self.java_class = java_class


class OptionError(JavaError):
    """An error for an unknown option or an invalid value."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"joptsimple.{kind}", message)


class UsageError(Exception):
    """An error for options that do not fit together, which is printed with the help."""


class Kind(Enum):
    """The types of option values, with Java's name and the number of bits."""

    STRING = "String", 0
    INTEGER = "Integer", 32
    LONG = "Long", 64

    @property
    def java_name(self) -> str:
        """Return the name in the help."""
        return self.value[0]

    def fits(self, text: str) -> bool:
        """Return whether ``text`` is a value of this type."""
        _, bits = self.value
        if not bits:
            return True
        return bool(re.fullmatch("[+-]?[0-9]+", text)) and -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1)


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a tool.

    Attributes:
        name: The name without dashes.
        meaning: The description in the help.
        takes: The description of the value in the help, possibly empty; None for a switch without a value.
        kind: The type of its value.
        repeated: Whether it may be given more than once.
        separator: The separator of several values in one; None if there is only one.
        default: The default value as text.
        is_optional: Whether the option may be given without its value.
    """

    name: str
    meaning: str
    takes: str | None = None
    kind: Kind = Kind.STRING
    repeated: bool = False
    separator: str | None = None
    default: str | None = None
    is_optional: bool = False

    @property
    def attribute(self) -> str:
        """Return the attribute of the value in `Given.values`."""
        return re.sub("[-.]", "_", self.name)

    @property
    def shown(self) -> str:
        """Return the left column of the help."""
        if self.takes is None:
            return f"--{self.name}"
        value = f"{self.kind.java_name}{': ' if self.takes else ''}{self.takes}"
        return f"--{self.name} [{value}]" if self.is_optional else f"--{self.name} <{value}>"

    @property
    def description(self) -> str:
        """Return the right column of the help."""
        return self.meaning if self.default is None else f"{self.meaning} (default: {self.default})"

    def split(self, value: str) -> list[str]:
        """Split ``value`` at the separator; drop empty parts, unless all are empty."""
        parts = [value] if self.separator is None else value.split(self.separator)
        return [part for part in parts if part] or [value]

    def read(self, text: str) -> str | int:
        """Convert ``text`` to the type of the option."""
        if not self.kind.fits(text):
            raise OptionError(
                "OptionArgumentConversionException", f"Cannot parse argument '{text}' of option {self.name}"
            )
        return text if self.kind is Kind.STRING else int(text)


class Given:
    """A parsed command line.

    Args:
        options: All options by name.
        found: The values of each given option, in the given order.
    """

    def __init__(self, options: Mapping[str, Option], found: Mapping[str, list[str]]) -> None:
        self._options = options
        self._found = found

    @property
    def names(self) -> tuple[str, ...]:
        """Return the given options in their order."""
        return tuple(self._found)

    def has(self, name: str) -> bool:
        """Return whether an option was given."""
        return name in self._found

    def texts(self, name: str) -> list[str]:
        """Return all values of an option as text."""
        return self._found.get(name, [])

    def values(self) -> SimpleNamespace:
        """Return the value of each option as attributes; None if the option is not given.

        A repeated option has a list, a switch a bool.

        Raises:
            OptionError: A value has the wrong type, or an option that may not be repeated has two.
        """
        return SimpleNamespace(**{each.attribute: self._value(each) for each in self._options.values()})

    def _value(self, option: Option) -> object:
        if option.takes is None:
            return self.has(option.name)
        texts = self.texts(option.name)
        if option.repeated:
            return [option.read(text) for text in texts]
        if len(texts) > 1:
            raise OptionError(
                "MultipleArgumentsForOptionException",
                f"Found multiple arguments for option {option.name}, but you asked for only one",
            )
        text = texts[0] if texts else option.default
        return None if text is None else option.read(text)


class Options:
    """The options of a tool, always including ``--help`` and ``--version``.

    Args:
        options: The other options.
    """

    def __init__(self, *options: Option) -> None:
        self._options = {each.name: each for each in (*options, HELP, VERSION)}

    def parse(self, arguments: Sequence[str]) -> Given:
        """Parse a command line.

        Raises:
            OptionError: An option is unknown or lacks its value.
        """
        found: dict[str, list[str]] = {}
        words = deque(arguments)
        while words:
            word = words.popleft()
            if word == "--":
                break
            if word.startswith("-") and word != "-":
                name, equals, value = word.removeprefix("-").removeprefix("-").partition("=")
                option = self._option(name, whole=word.startswith("--"))
                values = found.setdefault(name, [])
                if option.takes is not None:
                    values += option.split(value) if equals else _following(words, option)
        return Given(self._options, found)

    def usage(self) -> str:
        """Return the help."""
        rows = [("Option", "Description"), ("------", "-----------")]
        rows += [(each.shown, each.description) for _, each in sorted(self._options.items())]
        left = min((HELP_WIDTH - _GAP) // 2, max(len(shown) for shown, _ in rows))
        right = HELP_WIDTH - _GAP - left
        lines = []
        for shown, description in rows:
            halves = _wrapped(shown, left), _wrapped(description, right)
            height = max(map(len, halves))
            columns = [[*half, *[""] * (height - len(half))] for half in halves]
            lines += [f"{one:{left + _GAP}}{other}".rstrip() for one, other in zip(*columns, strict=True)]
        return "\n".join(lines)

    def _option(self, name: str, *, whole: bool) -> Option:
        option = self._options.get(name)
        if option is None:
            # Behind one dash each letter would be an option of its own; no option here has a name of one
            # letter.
            raise OptionError(
                "UnrecognizedOptionException", f"{name if whole else name[:1]} is not a recognized option"
            )
        return option


def _following(words: deque[str], option: Option) -> list[str]:
    """Take the value of ``option`` from the words that follow it; an optional value may not be there."""
    if option.is_optional and not (words and _may_be_value(words[0], option)):
        return []
    if not words:
        raise OptionError(
            "OptionMissingRequiredArgumentException", f"Option {option.name} requires an argument"
        )
    return option.split(words.popleft())


def _may_be_value(word: str, option: Option) -> bool:
    looks_like_option = word.startswith("-") and word != "-"
    return option.kind.fits(word) and (option.kind is not Kind.STRING or not looks_like_option)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(
        text, width, subsequent_indent=" " * _GAP, break_long_words=False, break_on_hyphens=False
    )


HELP = Option("help", "Print usage information.")
VERSION = Option("version", "Display Kafka version.")

COMMAND_CONFIG = Option(
    "command-config", "a file of properties for the admin client", "command config property file"
)
"""The option for properties of the client."""

ZOOKEEPER = Option(
    "zookeeper", "refused: the tools do not connect to ZooKeeper; it is deprecated in Kafka, too", "hosts"
)
"""The option for direct access to ZooKeeper."""


def bootstrap_server(meaning: str) -> Option:
    """Create the option for the servers of the cluster."""
    return Option("bootstrap-server", meaning, "server to connect to")
