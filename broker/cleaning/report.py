"""The log cleaner's report of a cleaning, in Kafka's words (``LogCleaner.scala``, ``recordStats``)."""

from __future__ import annotations

from datetime import UTC, datetime

from barnabas.broker.cleaning.core.choice import delete_horizon_ms
from barnabas.broker.cleaning.job import CleaningJob
from barnabas.broker.cleaning.rewrite import CleaningStats
from barnabas.broker.replicas.hosted import HostedPartition
from barnabas.cluster.model.ids import TopicPartition

_MB = 1024 * 1024


def beginning(topic_partition: TopicPartition, job: CleaningJob) -> tuple[str, ...]:
    """Return the lines at the beginning of a cleaning."""
    dirty = sum(segment.end_offset > job.first_dirty_offset for segment in job.segments)
    horizon_ms = job.segments[-1].modified_ms if job.segments else 0
    deletes_ms = delete_horizon_ms(job.segments, job.first_dirty_offset, job.config.delete_retention_ms)
    span = f"[{job.first_dirty_offset}, {job.end_offset})"
    prior = f"cleaning prior to {_date(horizon_ms)}, discarding tombstones prior to {_date(deletes_ms)}"
    return (
        f"Beginning cleaning of log {topic_partition}.",
        f"Building offset map for log {topic_partition} for {dirty} segments in offset range {span}.",
        f"Cleaning log {topic_partition} ({prior})...",
    )


def statistics(number: int, name: TopicPartition, first: int, end: int, stats: CleaningStats) -> str:
    """Return the lines at the end of a cleaning.

    Args:
        number: The number of the cleaner thread.
        name: The name of the log.
        first: The offset at which the dirty section began.
        end: The offset at which it begins now.
        stats: The figures.
    """
    seconds, index_s = max(stats.elapsed_s, 1e-3), max(stats.index_s, 1e-3)
    clean_s = max(seconds - index_s, 1e-3)
    read, written, mapped = stats.bytes_read / _MB, stats.bytes_written / _MB, stats.map_bytes_read / _MB
    fewer_bytes = 100 * (1 - stats.bytes_written / max(stats.bytes_read, 1))
    fewer_messages = 100 * (1 - stats.messages_written / max(stats.messages_read, 1))
    whole = f"{100 * index_s / seconds:.1f}", f"{100 * clean_s / seconds:.1f}"
    return (
        f"\n\tLog cleaner thread {number} cleaned log {name} (dirty section = [{first}, {end}])"
        f"\n\t{read:,.1f} MB of log processed in {seconds:,.1f} seconds ({read / seconds:,.1f} MB/sec)."
        f"\n\tIndexed {mapped:,.1f} MB in {index_s:.1f} seconds ({mapped / index_s:,.1f} Mb/sec, "
        f"{whole[0]}% of total time)"
        f"\n\tBuffer utilization: {100 * stats.utilization:.1f}%"
        f"\n\tCleaned {read:,.1f} MB in {clean_s:.1f} seconds ({read / clean_s:,.1f} Mb/sec, "
        f"{whole[1]}% of total time)"
        f"\n\tStart size: {read:,.1f} MB ({stats.messages_read:,} messages)"
        f"\n\tEnd size: {written:,.1f} MB ({stats.messages_written:,} messages)"
        f"\n\t{fewer_bytes:.1f}% size reduction ({fewer_messages:.1f}% fewer messages)"
    )


def described(partition: HostedPartition) -> str:
    """Return a log as Kafka prints it."""
    log, (topic, number) = partition.log, partition.topic_partition
    return (
        f"Log(dir={log.directory}, topic={topic}, partition={number}, "
        f"highWatermark={partition.replica.high_watermark}, "
        f"lastStableOffset={log.last_stable_offset(partition.replica.high_watermark)}, "
        f"logStartOffset={log.log_start_offset}, logEndOffset={log.log_end_offset})"
    )


def _date(milliseconds: int) -> str:
    return datetime.fromtimestamp(max(milliseconds, 0) / 1000, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")
