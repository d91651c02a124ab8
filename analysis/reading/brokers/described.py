"""Topics' settings as Kafka's tools print them: kafka-configs.sh, and znodes in zookeeper-shell.sh.

Such a text has no times. Only what names its topic and is printed by no other command is read.

Source: ``ConfigCommand.scala`` of 0.9 to 4.0; ``GetCommand`` and ``ZooKeeperMain`` of ZooKeeper.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

NAME = "min.insync.replicas"
"""The setting that is read."""

MARKS = ("onfigs for topic", "/config/topics/")
"""Texts of which a text with topics' settings has at least one."""

_TOPIC = r"(?P<topic>[A-Za-z0-9._-]+)"
# ``Configs`` alone up to 2.4, which prints inherited settings, too. The settings follow, one a line.
_HEADING = re.compile(rf"(?:Dynamic |All |)[Cc]onfigs for topic {_TOPIC} are:\s*")
_SETTING = re.compile(rf"\s+{re.escape(NAME)}=(?P<value>\d+)(?: (?:sensitive|synonyms)=.*)?\s*")
# With --zookeeper: all settings of the topic's own in one line.
_ONE_LINE = re.compile(rf"Configs for (?:topic '|topics:){_TOPIC}'? are (?P<settings>[a-z.]+=.*|)\s*")
_OWN = re.compile(rf"(?:^|,){re.escape(NAME)}=(?P<value>\d+)(?=,|$)")
_COMMAND = re.compile(rf"(?:\[zk: [^\]]*\] )?get (?:-s )?/config/topics/{_TOPIC}\s*")
_ANY_COMMAND = re.compile(r"\[zk: |get ")


class Described(NamedTuple):
    """A topic's setting in a text.

    Attributes:
        topic: The topic.
        value: The value; empty for the brokers' setting.
        line: The number of its line in the text, from 0 on.
    """

    topic: str
    value: str
    line: int


def topic_settings(text: str) -> tuple[str, ...]:
    """Return the settings as ``topics/orders/min.insync.replicas=2``, in the order of their lines.

    An empty value stands for the brokers' setting: all settings of the topic are listed, and this is none.
    """
    return tuple(f"topics/{each.topic}/{NAME}={each.value}" for each in described(text))


def described(text: str) -> list[Described]:
    """Return the topics' settings in a text, in the order of their lines."""
    lines = [line.rstrip("\r") for line in text.split("\n")]
    return list(_found(lines)) if any(mark in text for mark in MARKS) else []


def is_nameless(text: str) -> bool:
    """Return whether a text has settings of a znode, and no command that says of which.

    ``zookeeper-shell.sh`` prints no command that was an argument, so the settings may be of any topic.
    """
    lines = text.split("\n")
    is_named = any(mark in text for mark in MARKS) or any(map(_ANY_COMMAND.match, lines))
    return not is_named and any(map(_is_settings, lines))


def _is_settings(line: str) -> bool:
    return line.startswith('{"version":') and _of_znode(line) is not None


def _found(lines: list[str]) -> Iterator[Described]:
    listed = znode = None
    for number, line in enumerate(lines):
        if (heading := _HEADING.fullmatch(line)) is not None:
            listed, znode = heading["topic"], None
        elif (one := _ONE_LINE.fullmatch(line)) is not None:
            own = _OWN.search(one["settings"])
            yield Described(one["topic"], "" if own is None else own["value"], number)
            listed = znode = None
        elif (command := _COMMAND.fullmatch(line)) is not None:
            listed, znode = None, command["topic"]
        elif _ANY_COMMAND.match(line):
            listed = znode = None
        elif listed is not None and (setting := _SETTING.fullmatch(line)) is not None:
            yield Described(listed, setting["value"], number)
        elif listed is not None and line.strip() and not line[0].isspace():
            listed = None
        elif znode is not None and (value := _of_znode(line)) is not None:
            yield Described(znode, value, number)
            znode = None


def _of_znode(line: str) -> str | None:
    """Return the setting in a znode's JSON, empty if it has none of its own; None for another line."""
    if not line.startswith("{"):
        return None
    try:
        config = json.loads(line)["config"]
        value = str(config.get(NAME, ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return value if value.isdecimal() or not value else None
