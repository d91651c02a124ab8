"""Lines that a process ended at once, which no logger writes: its Java VM's, or the kernel's.

They stand between a broker's lines where a container's output or a host's journal is the log. They have no
header, so their time is that of the entry above by the same process, which ended then or later.

Source: ``report_java_out_of_memory`` in ``debug.cpp``, and ``VMError::report``, of HotSpot 8 to 21;
``__oom_kill_process`` in ``oom_kill.c`` of Linux 3 to 6.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.reading.events.entries import Row
from barnabas.analysis.reading.heads import NO_TIME, Heads
from barnabas.analysis.reading.text import Text
from barnabas.analysis.reading.traces import writer_of

_MARKS = (b" due to java.lang.OutOfMemoryError: ", b" Java Runtime Environment", b"ut of memory: Kill")
"""Texts of which a block with such a line has at least one."""

_LONGEST = 4096
"""The bytes of a line in which such a text may stand."""

# A block's lines end with a line feed, before which there may be a carriage return.
_ENDING = re.compile(
    rb"^(?P<front>[^\n]{0,200}?)(?P<text>(?:Terminating|Aborting) due to java\.lang\.OutOfMemoryError: "
    rb"|# A fatal error has been detected by the Java Runtime Environment:"
    rb"|# There is insufficient memory for the Java Runtime Environment to continue\."
    rb"|(?:Memory cgroup out|Out) of memory: Kill(?:ed)? process \d)",
    re.MULTILINE,
)
_NO_HEAP = re.compile(r"(?:Terminating|Aborting) due to java\.lang\.OutOfMemoryError: (?P<what>.*?)\s*")
_KILLED = re.compile(r"(?:Memory cgroup out|Out) of memory: Kill(?:ed)? process (?P<pid>\d+).*")
# The time that the journal's tool puts before the host's name.
_STAMP = re.compile(r"^(?:[A-Z][a-z]{2} +\d+ [\d:]{8}|\d{4}-\d\d-\d\dT\S+) ")
_PID = re.compile(r"\[(?P<pid>\d+)\]: $")
_NO_MEMORY = "# There is insufficient memory"
_PROBLEM = re.compile(r"^#  (?P<what>\S.*?)(?: at pc=.*|, pid=.*)?$", re.MULTILINE)


class Ending(NamedTuple):
    """A line that a process ended at once.

    Attributes:
        line: The index of the line in its block.
        text: What the line says.
    """

    line: int
    text: str

    def row(self, trace: str) -> Row:
        """Return the columns of the line's row.

        Args:
            trace: The lines below it.
        """
        return {
            "understood": True,
            "kind": BrokerKind.ENDED_AT_ONCE.value,
            "role": "broker",
            "error": self._why(trace),
        }

    def _why(self, trace: str) -> str:
        heap = _NO_HEAP.fullmatch(self.text)
        if heap is not None:
            return f"it ran out of memory: {heap['what']}"
        if _KILLED.fullmatch(self.text):
            return "the kernel killed it: out of memory"
        if self.text.startswith(_NO_MEMORY):
            return "it ran out of memory: the system gave its Java VM no more"
        problem = _PROBLEM.search(trace)
        return f"its Java VM crashed{'' if problem is None else ': ' + problem['what']}"


def has_ending(chunks: Iterable[bytes]) -> bool:
    """Return whether a file's text, in chunks, has a line that a process ended at once."""
    begun = b""
    for chunk in chunks:
        lines = begun + chunk
        if any(mark in lines for mark in _MARKS) and _ENDING.search(lines):
            return True
        begun = lines[lines.rfind(b"\n") + 1 :][:_LONGEST]
    return False


def find_endings(data: bytes, text: Text, heads: Heads) -> list[Ending]:
    """Find the lines of a block that a process ended, and make each an entry with the time of the one above.

    The kernel's counts if the journal names the same process in front of the broker's lines.

    Args:
        data: The block.
        text: The same block's lines.
        heads: The headers of the lines, to which theirs are added.
    """
    if not any(mark in data for mark in _MARKS):
        return []
    fronts = {line: front for line, front in _candidates(data, text) if not heads.found[line]}
    times: dict[str, int] = {}
    found = []
    for line in sorted((*np.flatnonzero(heads.found).tolist(), *fronts)):
        if line not in fronts:
            front = text.slice(int(text.start[line]), int(heads.start[line]))
            times |= dict.fromkeys(_names(front), int(heads.time[line]))
            continue
        start = int(text.start[line]) + len(fronts[line].encode())
        ending = Ending(line, text.slice(start, int(text.end[line])))
        killed = _KILLED.fullmatch(ending.text)
        name = killed["pid"] if killed is not None else _names(fronts[line])[0]
        time = times.get(name, NO_TIME)
        if time != NO_TIME:
            heads.found[line], heads.start[line], heads.time[line] = True, start, time
            heads.level[line] = -1
            found.append(ending)
    return found


def _names(front: str) -> tuple[str, ...]:
    """Return the writer's name in the text in front of a line, and the number of its process if any."""
    process = _PID.search(front)
    name = writer_of(_STAMP.sub("", front))
    return (name,) if process is None else (name, process["pid"])


def _candidates(data: bytes, text: Text) -> Iterator[tuple[int, str]]:
    """Yield the lines that may be such, each with the text in front of it."""
    for each in _ENDING.finditer(data):
        yield int(np.searchsorted(text.start, each.start(), side="right")) - 1, each["front"].decode()
