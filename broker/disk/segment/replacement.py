"""A segment that was fetched again to replace a damaged one."""

from __future__ import annotations

from pathlib import Path

from barnabas.broker.core.records.batch_validation import check_fetched, gaps_limit
from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.record_batch import Buffer
from barnabas.broker.core.records.refusals import Reason, Refusal
from barnabas.broker.disk.files import remove
from barnabas.broker.disk.names import REFETCHED_SUFFIX
from barnabas.broker.disk.segment.scrub import SegmentSpan
from barnabas.broker.disk.segment.segment import LogSegment
from barnabas.cluster.model.ids import Offset


class SegmentReplacement:
    """The files of a segment that is fetched again, written on the directory's thread.

    Their names end in ``.deleted``: a start of the broker removes them. The damaged segment stays
    untouched until all offsets of the span are here.

    Attributes:
        next_offset: The offset to fetch next.
        missing_end: The offset below which the other replica has dropped records of the span; 0 without any.
    """

    def __init__(self, directory: Path, span: SegmentSpan, config: LogConfig, now_ms: int) -> None:
        self._span = span
        self._config = config
        self._directory = directory
        self._now_ms = now_ms
        self._segment: LogSegment | None = None
        self.next_offset = span.base_offset
        self.missing_end = Offset(0)

    @property
    def is_whole(self) -> bool:
        """Return whether all offsets of the span are here."""
        return self.next_offset >= self._span.end_offset

    def add(self, records: Buffer, gaps_end: int | None) -> Refusal | None:
        """Write the next batches; those after the span are left out.

        Args:
            records: The batches.
            gaps_end: The offset below which the other replica's log may have gaps, None if it does not say.

        Returns:
            The refusal of batches with a wrong checksum, wrong offsets, or a gap that compaction cannot
            explain.

        Raises:
            OSError: The disk refused.
        """
        limit = gaps_limit(gaps_end, self._config)
        batches = check_fetched(records, self.next_offset, gaps_end=limit)
        if isinstance(batches, Refusal):
            return batches
        segment = self._opened()
        # A batch after the span ends it: compaction has removed the offsets in between.
        for header, data in batches:
            if header.base_offset > self.next_offset:
                self.missing_end = min(Offset(header.base_offset), self._span.end_offset)
            if header.base_offset >= self._span.end_offset:
                self.next_offset = self._span.end_offset
                break
            if header.last_offset >= self._span.end_offset:
                found = f"batch {header.base_offset} to {header.last_offset}"
                wanted = f"expected {self.next_offset} to {self._span.end_offset - 1} at most"
                return Refusal(Reason.OFFSETS_NOT_MONOTONIC, f"{found}, {wanted}")
            position = segment.write([data], header.size)
            interval = self._config.index_interval_bytes
            segment.index(position, header.size, header.last_offset, header.newest_timestamp, interval)
            self.next_offset = Offset(header.next_offset)
            if header.record_count <= header.last_offset_delta:
                self.missing_end = self.next_offset
        return None

    def finish(self) -> LogSegment:
        """Flush the segment, with its indexes.

        Raises:
            OSError: The disk refused.
        """
        segment = self._opened()
        segment.end()
        segment.store_indexes()
        segment.unload_indexes()
        segment.sync()
        return segment

    def discard(self) -> None:
        """Remove the files; the damaged segment stays as it is."""
        if self._segment is not None:
            segment, self._segment = self._segment, None
            segment.close()
            for path in (segment.path, segment.offset_index.path, segment.time_index.path):
                if path.exists():
                    remove(path)

    def _opened(self) -> LogSegment:
        if self._segment is None:
            span = self._span
            self._segment = LogSegment(
                self._directory, span.base_offset, self._config, self._now_ms, REFETCHED_SUFFIX
            )
            self._segment.truncate(0, span.base_offset)  # an earlier attempt may have left its files
        return self._segment
