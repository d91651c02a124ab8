"""Mutated requests to what a broker does with a frame before a handler sees it."""

from __future__ import annotations

import sys
import time

from barnabas.broker.core.records.batch_validation import AppendOrigin, check_leader_append
from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.recompression import recompress
from barnabas.broker.core.records.record_batch import RecordBatch
from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.broker.wire.frames import UnreadableFrameError, decode, read_prefix
from tests.integration.fuzz_report import HANG_S, Fuzz
from tests.integration.hostile_requests import mutated

WARM_UP = 50_000
CONFIG = LogConfig(compression_type="lz4")


def decoded(frame):
    """The request in a frame; None where a broker closes the connection instead."""
    try:
        view = memoryview(frame).toreadonly()
        prefix = read_prefix(view)
        api = APIS.get(prefix.api_key)
        if api is None or not api.serves(prefix.api_version):
            return None
        return decode(view, "PLAINTEXT")
    except UnreadableFrameError:
        return None


def take(frame):
    """Decode a frame, and check and recompress the batches of a Produce; True where it is refused."""
    request = decoded(frame)
    if request is None:
        return True
    if request.api.key == ApiKey.PRODUCE:
        now_ms = time.time_ns() // 1_000_000
        for topic in request.body.topic_data:
            for partition in topic.partition_data:
                batch = check_leader_append(partition.records, CONFIG, now_ms, AppendOrigin.CLIENT)
                if isinstance(batch, RecordBatch):
                    recompress(batch, CONFIG, now_ms, "t-0")
    return False


def in_process(frames, rng, templates):
    """Fuzz without sockets; a thread's own time counts, so that a busy machine is no hang."""
    fuzz = Fuzz(None)
    slowest_s, slowest = 0.0, b""
    for number in range(frames):
        if number == min(WARM_UP, frames // 2):
            fuzz.look_at_memory()
            slowest_s = 0.0
        frame = mutated(rng, templates[rng.randrange(len(templates))])
        began = time.thread_time()
        try:
            is_refused = take(frame)
        except Exception:
            print(f"frame {number}: {frame.hex()}", file=sys.stderr)
            raise
        took = time.thread_time() - began
        if took > slowest_s:
            slowest_s, slowest = took, frame
        if fuzz.count(1, is_refused):
            fuzz.look_at_memory()
            fuzz.report(f"slowest {slowest_s * 1000:.1f} ms")
    fuzz.look_at_memory()
    fuzz.report(f"slowest {slowest_s * 1000:.1f} ms")
    if slowest_s > HANG_S:
        fuzz.fault(f"a hang of {slowest_s:.3f} s by {slowest.hex()}")
    return fuzz
