"""A rule for a line about brokers: a pattern, and how its groups become columns."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from barnabas.analysis.reading.events.broker_kinds import Contact
from barnabas.analysis.reading.events.entries import Row

_WORD = re.compile(r"[A-Za-z]+")
_EITHER_CASE = re.compile(r"\(\?i:(\w)\)")

_ID_LISTS = ("added_brokers", "lost_brokers", "bounced_brokers", "live_brokers")
_TEXTS = ("error", "cluster_id", "incarnation", "topic")

_PREFIX = re.compile(r"\[(?P<who>[A-Za-z][^\]]*)\][:,]? +")
_OWN_ID = re.compile(
    r"(?:\bid|nodeId|replicaId|controllerId|brokerId|broker)=(\d+)\b"
    r"|(?:Kafka Server|Controller|on Broker|on Controller|Listener on) (\d+)$|^(?:KafkaApi|Controller)-(\d+)"
    # The threads of a broker or a controller that talk to the active controller.
    r"|^(?:broker|controller)-(\d+)-to-controller\b",
    re.ASCII,
)
_PEER_ID = re.compile(
    r"leaderId=(\d+)|^ReplicaFetcherThread-\d+-(\d+)$|-to-broker-(\d+)-send-thread", re.ASCII
)

# [Partition t-0 broker=1] from 1.0 on; Partition [t,0] on broker 1: before.
PARTITION_PREFIX = re.compile(
    r"\[Partition (?P<topic>\S+)-(?P<partition>\d+) broker=(?P<broker>\d+)\] "
    r"|Partition \[(?P<old_topic>[^,\]]+),(?P<old_partition>\d+)\] on broker (?P<old_broker>\d+): ",
    re.ASCII,
)
"""The begin of a line about a partition, with the broker that writes it."""

# A thread's name before the writer's. If only one name is in brackets, it may be either.
THREAD_PREFIX = re.compile(r"\[[^\]]*\]:? +(?=\[[A-Za-z][^\]]*\][:,]? |Partition \[)")
"""A thread's name in front of the writer's."""

_AUTHORIZER = "ZooKeeperClient ACL authorizer"

# The first one that matches counts: a ConnectException is also thrown when a connection times out.
_CONTACTS = (
    (Contact.TIMED_OUT, re.compile(r"tim(?:ed|e) ?-?out|TimeoutException|DEADLINE_EXCEEDED", re.IGNORECASE)),
    (Contact.UNREACHABLE, re.compile(r"no route|unknownhost|unresolved|name or "
    r"service|unreachable|dns", re.IGNORECASE)),
    (Contact.REFUSED, re.compile(r"refused|java\.net\.ConnectException", re.IGNORECASE)),
    # A connection that could not be opened says nothing of when the last one ended. 0.8 throws the exception
    # when it sends over a connection that could not be opened again.
    (Contact.UNKNOWN, re.compile(r"failed to connect|ClosedChannelException", re.IGNORECASE)),
    (Contact.DISCONNECTED, re.compile(r"disconnect|EOF|reset by peer|broken pipe|closed|stream "
    r"ended", re.IGNORECASE)),
)  # fmt: skip

Read = Callable[["Speaker", re.Match[str], str], Row | None]
"""A function of the speaker, the match and the trace to more columns; None if the line is of no kind."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """The writer of a line, as its prefix names it.

    Attributes:
        broker: The id of the process; None if the prefix does not name it.
        peer: The id of the broker to which a fetcher or sender thread talks; None for other writers.
        is_authorizer: Whether it is the authorizer's own client of ZooKeeper, which has a session of its own.
    """

    broker: int | None = None
    peer: int | None = None
    is_authorizer: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for lines of one form.

    Attributes:
        kind: The kind of the line.
        pattern: A regular expression for the whole message without its prefix. Groups are named as the
            columns that they fill; those that begin with ``_`` are for ``read``.
        loggers: The classes (last parts of the loggers' names) that write the line; empty for any. They are
            needed where words are as general as ``started``.
        role: The role in which the line is written.
        is_own: Whether the line is about its writer; else about the group ``subject``, or the peer.
        read: A function that gives more columns, or refuses the line.
    """

    kind: StrEnum
    pattern: re.Pattern[str]
    loggers: tuple[str, ...] = ()
    role: str = "broker"
    is_own: bool = True
    read: Read | None = None

    @property
    def first(self) -> str:
        """Return the first word of the rule's messages in lower case."""
        return first_word(_EITHER_CASE.sub(r"\1", self.pattern.pattern))

    def columns(self, speaker: Speaker, said: re.Match[str], trace: Callable[[], str]) -> Row | None:
        """Return the columns of a line that the pattern matches; None if the line is of no kind after all.

        Args:
            speaker: The writer.
            said: The match of the pattern.
            trace: Returns the lines below the message.
        """
        row: Row = {"understood": True, "kind": self.kind.value, "role": self.role}
        for name, text in said.groupdict().items():
            if text is not None and not name.startswith("_"):
                row[name] = _value(name, text)
        more = self.read(speaker, said, trace()) if self.read is not None else {}
        if more is None:
            return None
        row |= more
        if self.is_own:
            known = row.get("subject", speaker.broker)
            row |= {"subject": known, "broker": known} if known is not None else {}
        else:
            row |= {"broker": speaker.broker} if speaker.broker is not None else {}
            if "subject" not in row and speaker.peer is not None:
                row["subject"] = speaker.peer
        return row


def rule(
    kind: StrEnum,
    pattern: str,
    *loggers: str,
    role: str = "broker",
    is_own: bool = True,
    read: Read | None = None,
) -> Rule:
    """Create a rule; the pattern must begin with letters, by which the rules of a message are found."""
    return Rule(kind, re.compile(pattern, re.ASCII | re.DOTALL), loggers, role, is_own, read)


def split_prefix(message: str) -> tuple[str, int]:
    """Return the text in a message's brackets, empty without one, and the begin of what follows it."""
    found = _PREFIX.match(message)
    return ("", 0) if found is None else (found["who"], found.end())


@functools.lru_cache(maxsize=4096)
def speaker(who: str) -> Speaker:
    """Return the writer whom the text in a message's brackets names."""
    return Speaker(_id(_OWN_ID, who), _id(_PEER_ID, who), who == _AUTHORIZER)


def first_word(text: str, start: int = 0) -> str:
    """Return the first word of a message in lower case, by which its rules are found."""
    found = _WORD.match(text, start)
    return found[0].lower() if found is not None else ""


def innermost_cause(trace: str) -> str:
    """Return the first line of the innermost cause of a stack trace; empty without one."""
    causes = [
        line.removeprefix("Caused by: ") for line in trace.splitlines() if line.startswith("Caused by: ")
    ]
    first = next((line for line in trace.splitlines() if line and not line[0].isspace()), "")
    return (causes[-1] if causes else first).strip()


def with_cause(_: Speaker, said: re.Match[str], trace: str) -> Row:
    """Read ``error`` from the trace, or else from the line."""
    cause = innermost_cause(trace) or said.groupdict().get("error")
    return {"error": cause} if cause else {}


def contact_of(text: str) -> Contact:
    """Return how a contact was lost, by the words of an error."""
    return next((contact for contact, words in _CONTACTS if words.search(text)), Contact.UNKNOWN)


def _id(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return None if found is None else int(next(each for each in found.groups() if each is not None))


def _value(name: str, text: str) -> object:
    if name in _ID_LISTS:
        return tuple(int(each) for each in re.findall(r"\d+", text))
    return text if name in _TEXTS else int(text)
