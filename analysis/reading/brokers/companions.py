"""The lines of server.log and controller.log that are read: ISR changes, controllers, brokers' lives.

At INFO (the default from 2.6) state-change.log does not log that an ISR grew; the next line about the
partition shows it. The leader logs the change at once in server.log, with the zkVersion. The lines about
brokers are those of ``analysis.reading.brokers``. All other lines of these logs are kept with a null in the
column ``understood``.

The forms are those of Kafka 0.8 to 4.x; our brokers use the one of 2.8.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable

from barnabas.analysis.reading.brokers.life import LIFE_RULES
from barnabas.analysis.reading.brokers.others import OTHERS_RULES
from barnabas.analysis.reading.brokers.rule import (
    PARTITION_PREFIX,
    THREAD_PREFIX,
    Rule,
    first_word,
    speaker,
    split_prefix,
)
from barnabas.analysis.reading.events.entries import Row
from barnabas.analysis.reading.events.kinds import CompanionKind
from barnabas.cluster.model.statechange.values import is_readable

_IDS = r"(?P<isr>[\d,]*)"
_BEFORE = r"(?P<before>[\d,]*)"
_SAYINGS: tuple[tuple[CompanionKind, re.Pattern[str]], ...] = (
    (
        CompanionKind.ISR_UPDATED,
        re.compile(
            rf"ISR updated (?:from AlterIsr )?to \[?{_IDS}\]?(?P<under_min_isr> \(under-min-isr\))? +"
            r"and (?:zkV|v)ersion updated to \[?(?P<version>\d+)\]?",
            re.ASCII,
        ),
    ),
    (
        CompanionKind.ISR_SHRINKING,
        re.compile(
            rf"Shrinking ISR (?:for partition \S+ )?from {_BEFORE} to {_IDS}(?:\.?$|\. Leader: .*)", re.ASCII
        ),
    ),
    (
        CompanionKind.ISR_EXPANDING,
        re.compile(rf"Expanding ISR (?:for partition \S+ )?from {_BEFORE} to {_IDS}(?:\.?$|\. .*)", re.ASCII),
    ),
    (
        CompanionKind.ISR_NOT_UPDATED,
        re.compile(r"Cached zkVersion \[?\d+\]? not equal to that in zookeeper, skip updating ISR", re.ASCII),
    ),
)
_ELECTED = re.compile(
    r"(?P<id>\d+) successfully elected as (?:leader|the controller)"
    r"(?:\. Epoch incremented to (?P<epoch>\d+) and epoch zk version is now \d+)?",
    re.ASCII,
)
_RULES: dict[str, list[Rule]] = defaultdict(list)
for _each in (*LIFE_RULES, *OTHERS_RULES):
    _RULES[_each.first].append(_each)


def companion_columns(text: str, logger: str = "", trace: Callable[[], str] = lambda: "") -> Row | None:
    """Return the columns that a line's message gives; None if no rule matches it.

    Args:
        text: The message.
        logger: The logger's name.
        trace: Returns the lines below the message.
    """
    if not is_readable(text):
        return None
    thread = THREAD_PREFIX.match(text)
    if thread is not None:
        text = text[thread.end() :]
    begin = PARTITION_PREFIX.match(text)
    if begin is not None and (row := _about_isr(begin, text)) is not None:
        return row
    who, start = split_prefix(text)
    if text[start : start + 1].isdigit():
        return _elected(text[start:])
    name = logger.rpartition(".")[2]
    for each in _RULES.get(first_word(text, start), ()):
        said = each.pattern.fullmatch(text, start) if not each.loggers or name in each.loggers else None
        if said is not None:
            return each.columns(speaker(who), said, trace)
    return None


def _elected(text: str) -> Row | None:
    elected = _ELECTED.fullmatch(text)
    if elected is None:
        return None
    broker = int(elected["id"])
    row: Row = {
        "understood": True,
        "kind": CompanionKind.CONTROLLER_ELECTED.value,
        "role": "controller",
        "broker": broker,
        "controller": broker,
    }
    return row if elected["epoch"] is None else row | {"controller_epoch": int(elected["epoch"])}


def _about_isr(begin: re.Match[str], text: str) -> Row | None:
    for kind, pattern in _SAYINGS:
        said = pattern.fullmatch(text, begin.end())
        if said is None:
            continue
        broker = int(begin["broker"] or begin["old_broker"])
        row: Row = {
            "understood": True,
            "kind": kind.value,
            "role": "broker",
            "broker": broker,
            "leader": broker,
            "topic": begin["topic"] or begin["old_topic"],
            "partition": int(begin["partition"] or begin["old_partition"]),
        }
        values = said.groupdict()
        if "isr" in values:
            row["isr"] = tuple(int(each) for each in values["isr"].split(",") if each)
        if values.get("before"):
            row["from"] = values["before"]
        if values.get("under_min_isr"):
            row["under_min_isr"] = True
        if "version" in values:
            row["version"] = int(values["version"])
        return row
    return None
