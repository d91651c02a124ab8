"""The conditions that logs show, each with its times, its subject and the first line that proves it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from barnabas.analysis.conditions.condition import Condition

_NAMED = 4
"""The most partitions that a sentence names; it counts the rest."""

_ERROR_MAX = 200
"""The most characters of an error in a sentence."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A condition of one broker, or of the cluster.

    Attributes:
        condition: The entry of the catalogue.
        subject: The broker that it is about; None if the lines do not name it, or if it is about none.
        writer: The broker that wrote the lines; None if it is unknown, or if there were several.
        since: The time of the first line.
        until: The time of the last line.
        lines: The number of lines.
        names: The partitions, or topics, that the lines name, in order; perhaps not all.
        named: The number of all of them.
        records: The records that replicas dropped, where the lines say so.
        silent_ms: The longest silence that a line gives, in milliseconds.
        error: The error that the first line with one gives.
        place: ``source``, ``block`` and ``line`` of the first line.
        raw: The text of the first line.
    """

    condition: Condition
    subject: int | None
    writer: int | None
    since: datetime
    until: datetime
    lines: int
    names: tuple[str, ...]
    named: int
    records: int | None
    silent_ms: int | None
    error: str | None
    place: tuple[str | None, int | None, int | None]
    raw: str | None

    @property
    def headline(self) -> str:
        """Return the sentence of at most 20 words that names the condition and its subject."""
        text = self.condition.headline.format(
            broker=_broker(self.subject),
            writer=_broker(self.writer),
            partitions=self._counted("partition"),
            topics=self._counted("topic"),
        )
        return text[0].upper() + text[1:]

    @property
    def detail(self) -> str:
        """Return the sentence with the times, the number of lines, the partitions and the error."""
        parts = [_span(self.since, self.until)]
        if self.lines:
            parts.append(_plural(self.lines, "line"))
        is_said = any(words in self.condition.headline for words in ("{partitions}", "{topics}"))
        if self.named > 1 or (self.names and not is_said):
            rest = self.named - _NAMED
            parts.append(", ".join(self.names[:_NAMED]) + (f" and {rest:,} more" if rest > 0 else ""))
        if self.records:
            parts.append(f"{_plural(self.records, 'record')} dropped")
        if self.silent_ms:
            parts.append(f"silent for {self.silent_ms / 1000:.1f} s")
        if self.error:
            cut = "…" if len(self.error) > _ERROR_MAX else ""
            parts.append(self.error[:_ERROR_MAX].rstrip(". ") + cut)
        return "; ".join(parts) + "."

    def _counted(self, noun: str) -> str:
        if self.named == 1:
            return f"{noun} {self.names[0]}"
        return f"{self.named:,} {noun}s" if self.named else f"a {noun}"


def findings(rows: Iterable[Mapping[str, Any]], catalogue: Iterable[Condition]) -> list[Finding]:
    """Return what rows of ``conditions`` and ``computed_conditions`` show, one finding for each broker.

    What needs action now comes first, then the rest by time.

    Args:
        rows: The rows of the tables.
        catalogue: The conditions.
    """
    by_key = {each.key: each for each in catalogue}
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        subject = row["broker"] if row["subject"] is None else row["subject"]
        # Files of brokers that nothing names are not taken for one broker's.
        groups[row["condition"], subject, row["source"] if subject is None else None].append(row)
    found = [_finding(by_key[key], subject, group) for (key, subject, _), group in groups.items()]
    found = [each for each in found if not 0 < each.lines < each.condition.least]
    return sorted(found, key=lambda each: (each.condition.alarm, each.since, each.condition.key))


def _finding(condition: Condition, subject: int | None, rows: Sequence[Mapping[str, Any]]) -> Finding:
    rows = sorted(rows, key=lambda row: (row["since"], row["source"] or "", row["line"] or 0))
    first, writers = rows[0], {row["broker"] for row in rows}
    names = sorted({name for row in rows for name in row["names"]}, key=_in_order)
    return Finding(
        condition=condition,
        subject=subject,
        writer=first["broker"] if len(writers) == 1 else None,
        since=first["since"],
        until=max(row["until"] for row in rows),
        lines=sum(row["lines"] for row in rows),
        names=tuple(names),
        named=max(len(names), *(row["named"] for row in rows)),
        records=sum(row["records"] or 0 for row in rows) or None,
        silent_ms=max((row["silent_ms"] or 0 for row in rows), default=0) or None,
        error=next((row["error"] for row in rows if row["error"]), None),
        place=(first["source"], first["block"], first["line"]),
        raw=first["raw"],
    )


def _in_order(name: str) -> tuple[str, int]:
    topic, _, partition = name.rpartition("-")
    return (topic, int(partition)) if topic and partition.isdecimal() else (name, -1)


def _broker(broker: int | None) -> str:
    return "a broker" if broker is None else f"broker {broker}"


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _span(since: datetime, until: datetime) -> str:
    first = since.isoformat(" ", timespec="milliseconds")
    if since == until:
        return f"At {first}"
    last = until.isoformat(" ", timespec="milliseconds")
    return f"From {first} to {last[11:] if since.date() == until.date() else last}"
