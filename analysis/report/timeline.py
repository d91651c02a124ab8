"""The changes of controllers, brokers, leaders and ISRs in order of time; like ones share a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from barnabas.analysis.derived.leaders import AFTER_UNSEEN, DELETING, SAME
from barnabas.analysis.report.document import Document, Row
from barnabas.analysis.report.incidents import is_internal
from barnabas.analysis.story.words import clock, count, listed

_NAMED = 6
"""The most partitions that one line names; it counts the rest."""

_KINDS = ("controller", "broker", "leader", "ISR")


class _Change(NamedTuple):
    """A change. Those of a tenth of a second that differ only in the partition share a line."""

    time: datetime
    kind: str
    what: str
    partition: str = ""


def timeline(document: Document) -> Iterator[str]:
    """Generate the lines of the timeline."""
    changes = (
        *_of_controllers(document), *_of_brokers(document), *_of_leaders(document), *_of_isr(document),
    )  # fmt: skip
    at_once: dict[tuple[datetime, int, str], list[_Change]] = {}
    for each in changes:
        tenth = each.time.replace(microsecond=each.time.microsecond // 100_000 * 100_000)
        at_once.setdefault((tenth, _KINDS.index(each.kind), each.what), []).append(each)
    for _, group in sorted(at_once.items(), key=lambda item: (min(item[1]).time, item[0][1])):
        first = min(group)
        named = _named({each.partition for each in group if each.partition})
        yield f"{clock(first.time, document.day)}  {first.kind:<10}  {named}{first.what}"
    if (rest := document.partitions - len(document.pictured)) > 0:
        yield f"... and {count(rest, 'partition')} more, in the tables leaders and isr"


def _named(partitions: Iterable[str]) -> str:
    names = sorted(partitions, key=lambda name: (is_internal(name), name))
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}: " if names else ""


def _of_controllers(document: Document) -> Iterator[_Change]:
    for row in document.answers["controller_epochs"]:
        what = f"broker {row['controller']} is controller, epoch {row['controller_epoch']}"
        yield _Change(row["since"], "controller", what)


def _of_brokers(document: Document) -> Iterator[_Change]:
    for absence in (each for incident in document.incidents for each in incident["absences"]):
        broker = f"broker {absence['broker']}"
        yield from _moment(absence["gone"], f"{broker} left", f": {absence['cause']}")
        yield from _moment(absence["returned"], f"{broker} is back", "")


def _moment(moment: Row, what: str, more: str) -> Iterator[_Change]:
    """Generate the line of a moment whose latest time is known."""
    time = moment.get("value") or moment.get("at_most")
    if time is not None:
        latest = ", at this time or before" if moment["certainty"] == "bound" else ""
        yield _Change(time, "broker", f"{what}{latest}{more}")


def _of_leaders(document: Document) -> Iterator[_Change]:
    for row in document.leaderships:
        epoch = "" if row["leader_epoch"] is None else f" (epoch {row['leader_epoch']})"
        before = row["previous_leader"]
        if row["leader"] < 0:
            after = f", after {before}" if before is not None and row["why"] != DELETING else ""
            what = f"no leader{epoch}{f': {DELETING}' if row['why'] == DELETING else after}"
        elif row["why"] == SAME:
            continue  # another line shows the ISR change that caused the new epoch
        elif before in (None, row["leader"]) or row["why"] == AFTER_UNSEEN:
            what = f"{row['leader']} elected{epoch}: {row['why']}"
        else:
            what = f"{row['leader']} elected after {before}{epoch}: {row['why']}"
        yield _Change(row["since"], "leader", what, f"{row['topic']}-{row['partition']}")


def _of_isr(document: Document) -> Iterator[_Change]:
    for row in document.isr:
        if not row["left"] and not row["joined"]:
            continue
        out = f", {listed(row['left'])} out" if row["left"] else ""
        back = f", {listed(row['joined'])} in" if row["joined"] else ""
        latest = " at the latest" if row["unseen"] else ""
        what = f"{row['size']} of {row['assigned']} in sync{out}{back}{latest}"
        yield _Change(row["since"], "ISR", what, f"{row['topic']}-{row['partition']}")
