"""The periodic verification of the checksums of all batches of this broker.

Kafka has no such check. It finds a damaged batch that nobody reads while other replicas still have it whole.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path

import structlog

from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.disk.segment.scrub import DamagedRange, SegmentCheck, SegmentSpan
from barnabas.broker.replicas.hosted import HostedPartition, HostedPartitions
from barnabas.cluster.runtime.turn import paced

_log = structlog.get_logger("kafka.log.LogManager")

INITIAL_DELAY_MS = 30_000
"""The delay in milliseconds of the first pass after a clean shutdown, at most the interval."""

PIECE_BYTES = 512 * 1024
"""The bytes checked at once: the directory's thread is free for others 10 ms later at most."""

REST = 4
"""The shortest pause after a piece, as a multiple of its duration: small batches need most CPU."""

LEAST_PAUSE_S = 0.05
"""The shortest pause after a piece in seconds.

A piece costs the event loop up to 0.5 ms however small it is, so a pass over many small logs takes 1 % of a
core. A pause below 0.5 ms would be none at all: uvloop's timers count milliseconds.
"""

OnDamage = Callable[[HostedPartition, SegmentSpan, tuple[DamagedRange, ...]], None]
"""The function called for each damaged segment, whenever one is found."""


def pause_s(size: int, took_s: float, bytes_per_s: int) -> float:
    """Return the pause in seconds after ``size`` bytes were checked in ``took_s`` seconds.

    Args:
        size: The bytes of the piece.
        took_s: The time from the start of the piece to the end of its check, in seconds.
        bytes_per_s: ``log.scrub.io.max.bytes.per.second``.
    """
    return max(size / bytes_per_s - took_s, REST * took_s, LEAST_PAUSE_S)


class LogScrub:
    """The check of the segments of all hosted partitions, each log directory at its own pace.

    Args:
        hosted: The partitions; their settings have the interval and the rate.
        on_damage: Called with what is found.
    """

    def __init__(self, hosted: HostedPartitions, on_damage: OnDamage) -> None:
        self._hosted = hosted
        self._on_damage = on_damage

    async def run(self, *, after_clean_stop: bool) -> None:
        """Check all logs every ``log.scrub.interval.ms``; runs until cancelled.

        After an unclean shutdown the first check begins at once, as recovery reads nothing below the recovery
        point.
        """
        interval_ms = self._hosted.settings.scrub_interval_ms
        if after_clean_stop:
            await asyncio.sleep(min(interval_ms, INITIAL_DELAY_MS) / 1000)
        while True:
            await self.check_all()
            await asyncio.sleep(interval_ms / 1000)

    async def check_all(self) -> None:
        """Check every segment once, those of different directories concurrently."""

        def log_dir(partition: HostedPartition) -> Path:
            return partition.log.directory.parent

        partitions = sorted(self._hosted.all, key=log_dir)
        passes = [self._check_each(list(group)) for _, group in groupby(partitions, key=log_dir)]
        await asyncio.gather(*passes)

    async def _check_each(self, partitions: Iterable[HostedPartition]) -> None:
        async for partition in paced(partitions):
            try:
                for span in partition.log.spans():
                    if span.size and self._is_hosted(partition):
                        await self.check(partition, span)
            except KafkaStorageError as error:
                if self._is_hosted(partition):
                    self._hosted.disk_failed(error)

    async def check(self, partition: HostedPartition, span: SegmentSpan) -> tuple[DamagedRange, ...]:
        """Check one segment at the configured rate; return its damage, and report it to ``on_damage``.

        Raises:
            KafkaStorageError: The disk refused.
        """
        log, check = partition.log, SegmentCheck(span)
        try:
            while not check.is_finished:
                started = time.monotonic()
                size = await asyncio.wrap_future(log.on_disk_thread(lambda: check.read_on(PIECE_BYTES)))
                took_s = time.monotonic() - started
                await asyncio.sleep(pause_s(size, took_s, self._hosted.settings.scrub_bytes_per_s))
        except OSError as error:
            raise log.storage_error("checking", error) from error
        finally:
            check.close()
        damaged = tuple(check.damaged)
        if damaged and self._is_hosted(partition):
            self._on_damage(partition, span, damaged)
        return damaged

    def _is_hosted(self, partition: HostedPartition) -> bool:
        return self._hosted.get(partition.topic_partition) is partition
