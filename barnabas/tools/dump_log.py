"""``kafka-dump-log.sh``: print what the files of a log hold.

Options and output are those of ``kafka.tools.DumpLogSegments`` of Kafka 2.8; the records of message format 2
and the files beside them are read by the broker's own code. Findings go to standard error and leave the exit
code at 0. It is 1 for a file that cannot be read and for a damaged index with ``--index-sanity-check``.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.broker.core.records.producer_state import CorruptSnapshotError, decode_snapshot
from barnabas.broker.core.records.record_batch import (
    FRAME_SIZE,
    HEADER_SIZE,
    MAGIC,
    MIN_BATCH_LENGTH,
    BatchHeader,
    RecordBatch,
    parse_header,
    peek_frame,
)
from barnabas.broker.core.records.records import CorruptRecordsError, record_times
from barnabas.broker.disk.names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    segment_file,
)
from barnabas.broker.disk.segment.transaction_index import TransactionIndex
from barnabas.tools.command_line.parser import Parser, ToolError, has, integer
from barnabas.tools.dump.batches import MAX_DUMPED_BYTES, Decode, OffsetCheck, RecordOptions, lines_of
from barnabas.tools.dump.decoders import STRING_DECODER, by_classes, offsets_decoder
from barnabas.tools.dump.indexes import (
    TimedBatch,
    TimeIndexErrors,
    check_offset_index,
    check_time_index,
    check_times,
    finding_lines,
    offset_entries,
    offset_lines,
    offset_mismatches,
    producer_lines,
    time_entries,
    time_lines,
    transaction_lines,
)
from barnabas.tools.dump.transactions import transactions_decoder

_MAGIC_AT = 16
_DECODER = "of the keys or values: kafka.serializer.StringDecoder, LongDecoder or IntegerDecoder"

OPTIONS = Parser(
    "kafka-dump-log.sh",
    "This tool helps to parse a log file and dump its contents to the console, useful for debugging a "
    "seemingly corrupt log segment.",
)
OPTIONS.add_argument("--files", required=True, help="the files, separated by commas")
OPTIONS.add_switches(
    print_data_log="print keys and values; implies --deep-iteration, and each decoder implies it",
    deep_iteration="print each record, and check that offsets are consecutive",
    skip_record_metadata="print only key and value of each record",
    verify_index_only="check indexes against the log without printing their entries",
    index_sanity_check="check indexes as a broker does when it starts, and nothing else",
    offsets_decoder="decode the records of __consumer_offsets",
    transaction_log_decoder="decode the records of __transaction_state, which only Kafka writes",
    cluster_metadata_decoder="refused: there is no metadata log here",
)
OPTIONS.add_argument("--max-message-size", type=integer, help="ignored")
for _name in ("--key-decoder-class", "--value-decoder-class"):
    OPTIONS.add_argument(_name, nargs="?", const=STRING_DECODER, help=f"the class {_DECODER}")

_PRINTING = (
    "print-data-log",
    "offsets-decoder",
    "transaction-log-decoder",
    "key-decoder-class",
    "value-decoder-class",
)


@dataclass(slots=True)
class Findings:
    """The errors found in the files, by their absolute paths.

    Attributes:
        mismatches: Of offset indexes.
        time_errors: Of time indexes.
        gaps: Of logs.
    """

    mismatches: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    time_errors: dict[str, TimeIndexErrors] = field(default_factory=dict)
    gaps: dict[str, list[tuple[int, int]]] = field(default_factory=dict)


class LogFile:
    """The batches of a ``.log`` file, which is read piece by piece.

    Args:
        path: The file.

    Attributes:
        size: Its size in bytes.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("rb")
        self.size = os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def header_at(self, position: int) -> BatchHeader | None:
        """Return the header of the batch at ``position``; None if the file ends before that batch does.

        Raises:
            ToolError: There is no batch of message format 2.
        """
        head = self._read(position, HEADER_SIZE)
        if len(head) <= _MAGIC_AT:
            return None
        size = peek_frame(head)[1]
        if size - FRAME_SIZE < MIN_BATCH_LENGTH:
            raise self._corrupt(size - FRAME_SIZE, MIN_BATCH_LENGTH)
        if position + size > self.size:
            return None
        if head[_MAGIC_AT] != MAGIC:
            raise ToolError(
                f"{self._path} has a message of format {head[_MAGIC_AT]} at position {position}, expected "
                f"format {MAGIC}",
            )
        if size < HEADER_SIZE:
            raise self._corrupt(size - FRAME_SIZE, HEADER_SIZE - FRAME_SIZE)
        return parse_header(head)

    def headers(self, start: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """Yield the position and the header of each batch from ``start`` on.

        Raises:
            ToolError: A batch is not of message format 2.
        """
        position = start
        while (header := self.header_at(position)) is not None:
            yield position, header
            position += header.size

    def batch(self, position: int, header: BatchHeader) -> bytes:
        """Return the bytes of the batch at ``position``."""
        return self._read(position, header.size)

    def _read(self, position: int, size: int) -> bytes:
        self._file.seek(position)
        return self._file.read(size)

    def _corrupt(self, size: int, least: int) -> ToolError:
        return ToolError(
            f"Found record size {size} smaller than minimum record overhead ({least}) in file {self._path}.",
        )


def dump_log(path: Path, options: RecordOptions, findings: Findings) -> Iterator[str]:
    """Yield the lines about a ``.log`` file."""
    yield f"Starting offset: {_base_offset(path)}"
    log, check, end = LogFile(path), OffsetCheck(), 0
    try:
        for position, header in log.headers():
            yield from lines_of(log.batch(position, header), position, options, check)
            end = position + header.size
    except CorruptRecordsError as error:
        raise ToolError(str(error)) from error
    finally:
        log.close()
        findings.gaps[str(path.absolute())] = check.gaps
    if log.size > end:
        yield f"Found {log.size - end} invalid bytes at the end of {path.name}"


def dump_offset_index(path: Path, flags: Namespace, findings: Findings) -> Iterator[str]:
    """Yield the lines about an ``.index`` file, and compare it with its log."""
    base_offset, data = _base_offset(path), path.read_bytes()
    log = LogFile(segment_file(path.parent, base_offset, LOG_SUFFIX))
    try:
        entries = offset_entries(data, base_offset)
        if not entries:
            yield f"{path} is empty."
            return
        if flags.index_sanity_check:
            check_offset_index(str(path.absolute()), data, base_offset)
            yield f"{path} passed sanity check."
            return

        def last_offset_at(position: int) -> int | None:
            header = log.header_at(position)
            return None if header is None else header.last_offset

        findings.mismatches[str(path.absolute())] = offset_mismatches(entries, last_offset_at)
    finally:
        log.close()
    if not flags.verify_index_only:
        yield from offset_lines(entries)


def dump_time_index(path: Path, flags: Namespace, findings: Findings) -> Iterator[str]:
    """Yield the lines about a ``.timeindex`` file, and compare it with its log."""
    base_offset, data = _base_offset(path), path.read_bytes()
    log = LogFile(segment_file(path.parent, base_offset, LOG_SUFFIX))
    try:
        positions = offset_entries(
            segment_file(path.parent, base_offset, INDEX_SUFFIX).read_bytes(), base_offset
        )
        if flags.index_sanity_check:
            check_time_index(str(path.absolute()), data, base_offset)
            yield f"{path} passed sanity check."
            return
        entries = time_entries(data, base_offset)

        def batch_of(offset: int) -> TimedBatch | None:
            start = max((each.position for each in positions if each.offset <= offset), default=0)
            for position, header in log.headers(start):
                if header.last_offset >= offset:
                    batch = RecordBatch(header, memoryview(log.batch(position, header)))
                    times = [each.timestamp for each in record_times(batch, MAX_DUMPED_BYTES)]
                    return TimedBatch(header.last_offset, max(times, default=-1))
            return None

        findings.time_errors[str(path.absolute())] = check_times(entries, batch_of)
    finally:
        log.close()
    if not flags.verify_index_only:
        yield from time_lines(entries)


def dump_snapshot(path: Path) -> list[str]:
    """Return the lines about a ``.snapshot`` file; a damaged one has none, and its error is printed."""
    try:
        return producer_lines(decode_snapshot(path.read_bytes()))
    except CorruptSnapshotError as error:
        _print_error(f"Snapshot file '{path.absolute()}' is corrupted: {error}")
        return []


def dump(path: Path, flags: Namespace, options: RecordOptions, findings: Findings) -> Iterable[str]:
    """Return the lines about a file of any kind.

    Raises:
        ToolError: The file cannot be read, or is not what its name says.
    """
    match path.suffix:
        case str() as suffix if suffix == LOG_SUFFIX:
            return dump_log(path, options, findings)
        case str() as suffix if suffix == INDEX_SUFFIX:
            return dump_offset_index(path, flags, findings)
        case str() as suffix if suffix == TIME_INDEX_SUFFIX:
            return dump_time_index(path, flags, findings)
        case str() as suffix if suffix == SNAPSHOT_SUFFIX:
            return dump_snapshot(path)
        case str() as suffix if suffix == TRANSACTION_INDEX_SUFFIX:
            return transaction_lines(TransactionIndex(path).entries)
        case _:
            _print_error(f"Ignoring unknown file {path}")
            return ()


def _base_offset(path: Path) -> int:
    number = path.name.partition(".")[0]
    if not (number.isascii() and number.isdigit()):
        raise ToolError(
            f'For input string: "{number}"; expected a file named by its base offset',
        )
    return int(number)


def _decode(flags: Namespace) -> Decode | None:
    if not any(has(flags, each) for each in _PRINTING):
        return None
    if flags.offsets_decoder:
        return offsets_decoder
    if flags.transaction_log_decoder:
        return transactions_decoder
    return by_classes(flags.key_decoder_class or STRING_DECODER, flags.value_decoder_class or STRING_DECODER)


def _print_error(line: str) -> None:
    sys.stdout.flush()
    sys.stderr.write(f"{line}\n")


@OPTIONS.main
def main(flags: Namespace) -> int:
    """Print the files, and return the exit code."""
    if flags.cluster_metadata_decoder:
        raise ToolError("--cluster-metadata-decoder is not served")
    decode = _decode(flags)
    is_deep = flags.deep_iteration or decode is not None
    options = RecordOptions(is_deep, not flags.skip_record_metadata, decode)
    findings = Findings()
    for path in map(Path, flags.files.split(",")):
        sys.stdout.write(f"Dumping {path}\n")
        try:
            sys.stdout.writelines(f"{line}\n" for line in dump(path, flags, options, findings))
        except OSError as error:
            sys.stdout.flush()
            raise ToolError(f"{error.filename} ({error.strerror})") from error
    sys.stdout.flush()
    for line in finding_lines(findings.mismatches, findings.time_errors, findings.gaps):
        _print_error(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
