"""The checks of a command line that several tools share, in the words of Kafka 2.8.

Sources: ``kafka.utils.CommandLineUtils``, ``kafka.utils.ToolsUtils``.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.tools.command_line.options import Given, OptionError, UsageError
from barnabas.tools.command_line.servers import ServersError, parse_servers


def require(given: Given, *names: str) -> None:
    """Check that all the options were given (``checkRequiredArgs``).

    Raises:
        UsageError: The first one that is missing.
    """
    for name in names:
        if not given.has(name):
            raise UsageError(f'Missing required argument "[{name}]"')


def require_unless(given: Given, name: str, other: str) -> None:
    """Check that ``name`` was given, or the option ``other`` that replaces it.

    Raises:
        UsageError: Neither was given; in the words of joptsimple's ``requiredUnless``.
    """
    if not given.has(name) and not given.has(other):
        raise UsageError(f"Missing required option(s) [{name}]")


def refuse_together(given: Given, used: str, others: Iterable[str]) -> None:
    """Check that none of ``others`` was given beside ``used`` (``checkInvalidArgs``).

    Raises:
        UsageError: The first one that was.
    """
    for other in others:
        if given.has(used) and given.has(other):
            raise UsageError(f'Option "[{used}]" can\'t be used with option "[{other}]"')


def available_if(given: Given, name: str, *conditions: str) -> None:
    """Check that ``name`` was given only beside one of the options ``conditions``.

    Raises:
        OptionError: It was given without them; in the words of joptsimple's ``availableIf``.
    """
    if given.has(name) and not any(map(given.has, conditions)):
        raise OptionError(
            "UnavailableOptionException",
            f"Option(s) [{name}] are unavailable given other options on the command line",
        )


def key_values(texts: Iterable[str]) -> dict[str, str]:
    """Parse properties ``key=value``; without ``=`` the value is empty (``parseKeyValueArgs``)."""
    return {name: value for name, _, value in (text.partition("=") for text in texts)}


def check_servers(text: str) -> list[str]:
    """Return the addresses in ``text`` (``ToolsUtils.validatePortOrDie``).

    Raises:
        UsageError: One of them has no port.
    """
    try:
        return parse_servers(text)
    except ServersError as error:
        raise UsageError("Please provide valid host:port like host1:9091,host2:9092\n ") from error
