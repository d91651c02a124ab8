"""What several tools check on a command line, in Kafka's words."""

from __future__ import annotations

import pytest

from barnabas.tools.command_line.options import Given, Option, OptionError, Options, UsageError
from barnabas.tools.command_line.usage import (
    available_if,
    check_servers,
    key_values,
    refuse_together,
    require,
    require_unless,
)

OPTIONS = Options(Option("one", "", ""), Option("other", "", ""), Option("third", ""))


def given(line: str) -> Given:
    return OPTIONS.parse(line.split())


def test_the_first_missing_option_is_named() -> None:
    require(given("--one 1 --other 2"), "one", "other")
    with pytest.raises(UsageError, match=r'^Missing required argument "\[other\]"$'):
        require(given("--one 1"), "one", "other", "third")


def test_one_of_two_options_is_required() -> None:
    require_unless(given("--other 2"), "one", "other")
    with pytest.raises(UsageError, match=r"^Missing required option\(s\) \[one\]$"):
        require_unless(given("--third"), "one", "other")


def test_options_that_exclude_each_other() -> None:
    refuse_together(given("--other 2 --third"), "one", ("other", "third"))
    with pytest.raises(UsageError, match=r"^Option \"\[one\]\" can't be used with option \"\[third\]\"$"):
        refuse_together(given("--one 1 --third"), "one", ("other", "third"))


def test_an_option_that_needs_another_one() -> None:
    available_if(given("--third --one 1"), "third", "other", "one")
    with pytest.raises(OptionError, match=r"^Option\(s\) \[third\] are unavailable given other options"):
        available_if(given("--third"), "third", "other", "one")


def test_properties() -> None:
    assert key_values(["a=b", "c=d=e", "f=", "g"]) == {"a": "b", "c": "d=e", "f": "", "g": ""}


def test_addresses_need_ports() -> None:
    assert check_servers("a:1,b:2") == ["a:1", "b:2"]
    with pytest.raises(UsageError, match="Please provide valid host:port like host1:9091,host2:9092\n "):
        check_servers("a:1,b")
