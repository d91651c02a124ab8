"""The peer of the analysis: a hand-written reader with a compiled ``re`` for each form of a line.

It reads the logs of ``bench.logs.state_change_logs``, and no others, into the same typed Parquet table
``events``: one process, one pass, one regular expression a line with all its groups, columns that are filled
as the lines come, pyarrow to write them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from barnabas.analysis.reading.events.tables import EVENTS_ARROW

ROWS_OF_A_BATCH = 50_000
_LINE = re.compile(
    r"\[([\d :,-]{23})\] ([A-Z]+) \[(Broker|Controller) id=(\d+)(?: epoch=(\d+))?\] (\w+) (.*)"
)
_TAIL = " (state.change.logger)"
_FIELD = re.compile(r"<(\w+)(?::(\w+))?>")
_ERROR_CODE = re.compile(r"rrorCode=(\d+)")
_SPELLINGS = {
    None: r"-?\d+",
    "word": r"[\w-]+",
    "topic": r"[^\s']+",
    "ids": r"[\d, ]*",
    "any": r".*",
}


class Form(NamedTuple):
    """One form of a line: its text after the first word, and the values that all such lines have."""

    pattern: re.Pattern[str]
    constants: dict[str, Any]


def _form(kind: str, releases: str, text: str, **constants: str) -> Form:
    """Return a form whose text has its values as ``<column>`` or ``<column:spelling>``.

    ``<_:…>`` has no column.
    """
    pattern, end = "", 0
    for field in _FIELD.finditer(text):
        spelling = _SPELLINGS[field[2]]
        group = f"(?:{spelling})" if field[1] == "_" else f"(?P<{field[1]}>{spelling})"
        pattern += re.escape(text[end : field.start()]) + group
        end = field.end()
    return Form(
        re.compile(pattern + re.escape(text[end:])), {"kind": kind, "releases": releases, **constants}
    )


_TP = "<topic:topic>-<partition>"
_BY = "from controller <controller> epoch <controller_epoch>"
_STATE = (
    "PartitionState(topicName='<topic:topic>', partitionIndex=<partition>, "
    "controllerEpoch=<state_controller_epoch>, leader=<leader>, leaderEpoch=<leader_epoch>, "
    "isr=[<isr:ids>], zkVersion=<version>, replicas=[<replicas:ids>], <_:any>)"
)
_FORMS: dict[str, tuple[Form, ...]] = {
    "Changed": (
        _form(
            "replica-change", "0.8.1+",
            f"state of replica <replica> for partition {_TP} from <from:word> to <to:word>",
        ),
        _form(
            "partition-online", "1.1+",
            f"partition {_TP} from <from:word> to <to:word> with state LeaderAndIsr(leader=<leader>, "
            "leaderEpoch=<leader_epoch>, isr=List(<isr:ids>), zkVersion=<version>)",
        ),
        _form("partition-down", "0.8+", f"partition {_TP} state from <from:word> to <to:word>"),
    ),
    "Partition": (
        _form(
            "isr-removal", "2.6+",
            f"{_TP} state changed to (Leader:<leader>,ISR:<isr:ids>,LeaderEpoch:<leader_epoch>,ZkVersion:"
            "<version>,ControllerEpoch:<state_controller_epoch>) after removing replica <replica> from the "
            "ISR as part of transition to <to:word>",
        ),
    ),
    "Sending": (
        _form(
            "leader-and-isr-sending", "0.8.1+",
            f"<transition:word> LeaderAndIsr request LeaderAndIsr{_STATE} to broker <targets> for partition "
            "<_:topic>", api="LEADER_AND_ISR",
        ),
        _form(
            "update-metadata-batch", "2.6+",
            "UpdateMetadata request to brokers HashSet(<targets:ids>) for <count> partitions",
            api="UPDATE_METADATA",
        ),
    ),
    "Received": (
        _form(
            "leader-and-isr-received", "2.4+",
            f"LeaderAndIsr request LeaderAndIsr{_STATE} correlation id <correlation_id> {_BY}",
            api="LEADER_AND_ISR",
        ),
        _form(
            "response-received", "1.1+",
            "response <error_code:any> for request <api:word> with correlation id <correlation_id> sent to "
            "broker <_:topic> (id: <targets> rack: null)",
        ),
    ),
    "Handling": (
        _form(
            "transition-started", "0.8.1+",
            f"LeaderAndIsr request correlationId <correlation_id> {_BY} starting the <transition:word> "
            f"transition for partition {_TP}",
        ),
    ),
    "Completed": (
        _form(
            "transition-completed", "0.8.1+",
            f"LeaderAndIsr request correlationId <correlation_id> {_BY} for the <transition:word> "
            f"transition for partition {_TP}",
        ),
    ),
    "Leader": (
        _form(
            "leader-starts", "2.6 to 3.2",
            f"{_TP} starts at leader epoch <leader_epoch> from offset <offset> with high watermark "
            "<high_watermark> ISR [<isr:ids>] addingReplicas [<adding:ids>] removingReplicas "
            "[<removing:ids>]. Previous leader epoch was <previous_leader_epoch>.",
        ),
    ),
    "Cached": (
        _form(
            "metadata-cached", "0.8+",
            f"leader info UpdateMetadata{_STATE} for partition <_:topic> in response to UpdateMetadata "
            "request sent by controller <controller> epoch <controller_epoch> with correlation id "
            "<correlation_id>",
        ),
    ),
    "Finished": (
        _form(
            "leader-and-isr-finished", "2.7+",
            "LeaderAndIsr request in <duration_ms>ms correlationId <correlation_id> from controller "
            "<controller> for <count> partitions", api="LEADER_AND_ISR",
        ),
    ),
    "Controller": (
        _form(
            "partition-change-failed", "1.1+",
            "<controller> epoch <controller_epoch> failed to change state for partition "
            f"{_TP} from <from:word> to <to:word>",
        ),
    ),
}  # fmt: skip


def _ids(text: str) -> list[int]:
    return [int(part) for part in text.split(",")] if text else []


def _worst(response: str) -> int:
    return next((code for code in map(int, _ERROR_CODE.findall(response)) if code), 0)


def _reader(name: str) -> Callable[[str], Any]:
    kind = EVENTS_ARROW.field(name).type
    if name == "error_code":
        return _worst
    if pa.types.is_list(kind):
        return _ids
    return int if pa.types.is_integer(kind) else str


_READERS = {name: _reader(name) for name in EVENTS_ARROW.names}


class _Batch:
    """A batch of columns that are filled line by line."""

    def __init__(self) -> None:
        self.rows = 0
        self._columns: dict[str, list[Any]] = {name: [] for name in EVENTS_ARROW.names}

    def put(self, name: str, value: Any) -> None:
        """Fill a column of the newest row."""
        column = self._columns[name]
        missing = self.rows - 1 - len(column)
        if missing > 0:
            column.extend([None] * missing)
        if missing < 0:
            column[-1] = value
        else:
            column.append(value)

    def below(self, line: str) -> None:
        """Append a line to the newest row's trace."""
        trace = self._columns["trace"]
        self.put("trace", f"{trace[-1]}\n{line}" if len(trace) == self.rows else line)
        self._columns["raw"][-1] += f"\n{line}"

    def finish(self) -> pa.RecordBatch:
        """Return the rows."""
        arrays = []
        for field in EVENTS_ARROW:
            column = self._columns[field.name]
            column.extend([None] * (self.rows - len(column)))
            arrays.append(pa.array(column, field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=EVENTS_ARROW)


def read_logs(paths: Iterable[Path], target: Path) -> int:
    """Write the table ``events`` of the logs into one file.

    Returns:
        The number of rows.

    Raises:
        ValueError: A line has no known form.
    """
    total = 0
    with pq.ParquetWriter(target, EVENTS_ARROW, compression="snappy", store_schema=False) as writer:
        for path in paths:
            with path.open(encoding="utf-8") as lines:
                batch = _Batch()
                for number, line in enumerate(lines, 1):
                    text = line.rstrip("\n")
                    if not text.startswith("["):
                        batch.below(text)
                        continue
                    if batch.rows >= ROWS_OF_A_BATCH:
                        total += batch.rows
                        writer.write_batch(batch.finish())
                        batch = _Batch()
                    batch.rows += 1
                    _read_line(batch, text)
                    batch.put("source", path.as_uri())
                    batch.put("block", 0)
                    batch.put("line", number)
                total += batch.rows
                writer.write_batch(batch.finish())
    return total


def _read_line(batch: _Batch, text: str) -> None:
    found = _LINE.match(text, 0, len(text) - len(_TAIL))
    if found is None:
        raise ValueError(f"a line without header: {text!r}")
    time, level, side, speaker, epoch, verb, rest = found.groups()
    batch.put("time", datetime.fromisoformat(time))
    batch.put("level", level)
    batch.put("logger", "state.change.logger")
    batch.put("raw", text)
    batch.put("understood", value=True)
    batch.put("broker", int(speaker))
    batch.put("role", side.lower())
    if epoch is not None:
        batch.put("controller", int(speaker))
        batch.put("controller_epoch", int(epoch))
    for form in _FORMS[verb]:
        said = form.pattern.fullmatch(rest)
        if said is not None:
            for name, value in form.constants.items():
                batch.put(name, value)
            for name, value in said.groupdict().items():
                batch.put(name, _READERS[name](value))
            return
    raise ValueError(f"a line of no known form: {text!r}")
