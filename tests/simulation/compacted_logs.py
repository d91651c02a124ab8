"""One partition on three real logs that are compacted, while the topic's cleanup.policy changes."""

from __future__ import annotations

import re
import sys
from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from barnabas.broker.cleaning.log_cleaner import LogCleaner
from barnabas.broker.cleaning.rewrite import NewSegment
from barnabas.broker.core.records.record_batch import parse_header
from barnabas.cluster.model.errors import ErrorCode
from tests.batches import keyed_batch
from tests.compaction import SETTINGS, Inline

three_logs = sys.modules["three_logs"]
IDS, TP = three_logs.IDS, three_logs.TP

KEYS = 3

policies = st.sampled_from(("compact", "compact,delete", "delete"))


class CompactedLogs(three_logs.ThreeLogs):
    """The last value of each key that was acknowledged must be on every in-sync replica."""

    def __init__(self):
        super().__init__()
        self.alter("compact")

    def batch(self, value):
        return keyed_batch([(b"k%d" % (value % KEYS), b"<%d>" % value)])

    @rule(policy=policies)
    def alter(self, policy):
        for node in self.nodes.values():
            node.config = replace(node.config, cleanup_policy=frozenset(policy.split(",")))
            if node.partition is not None:
                node.partition.log.config = node.config

    @rule(broker_id=three_logs.brokers)
    def clean(self, broker_id):
        self.clean_up_to(broker_id, swaps=None)

    @rule(broker_id=three_logs.brokers, swaps=st.integers(1, 2))
    def stop_cleaning_by_the_policy(self, broker_id, swaps):
        self.clean_up_to(broker_id, swaps)

    def clean_up_to(self, broker_id, swaps):
        """Clean a log; the topic is altered to delete after some of its segments if ``swaps`` says so."""
        node, left = self.nodes[broker_id], swaps

        def before(step):
            nonlocal left
            if isinstance(step, NewSegment) and left is not None:
                left -= 1
                if left < 0:
                    self.alter("delete")

        if node.alive:
            cleaner = LogCleaner(node.hosted, lambda: SETTINGS)
            self.run(cleaner.clean_filthiest, 0, Inline(before))

    @staticmethod
    def held(node):
        """What its files hold: offsets and values."""
        found = {}
        for path in sorted((node.directory / "t-0").glob("*.log")):
            content = path.read_bytes()
            while content:
                header = parse_header(content)
                value = re.search(rb"<(\d+)>", content[: header.size])
                if value is not None:
                    found[header.base_offset] = int(value.group(1))
                content = content[header.size :]
        return found

    def last_values(self, node):
        return {value % KEYS: value for _, value in sorted(self.held(node).items())}

    def is_healed(self):
        nodes = self.nodes.values()
        ends = {node.partition.log.log_end_offset for node in nodes}
        values = [self.last_values(node) for node in nodes]
        high_watermarks = {node.partition.replica.high_watermark for node in nodes}
        isr = set(self.register.leader_and_isr.isr)
        agree = values[0] == values[1] == values[2] and len(ends) == 1
        return isr == set(IDS) and agree and high_watermarks == ends

    @invariant()
    def what_is_acknowledged_is_on_every_in_sync_replica(self):
        for value, answer in [each for each in self.waiting if each[1].done()]:
            self.waiting.remove((value, answer))
            appended = answer.result()[TP]
            if appended.error is ErrorCode.NONE:
                self.acknowledged[appended.base_offset] = value
        last = {value % KEYS: (offset, value) for offset, value in sorted(self.acknowledged.items())}
        for member in self.register.leader_and_isr.isr:
            held = self.held(self.nodes[member])
            for key, (offset, value) in last.items():
                newer = [at for at, other in held.items() if at > offset and other % KEYS == key]
                assert held.get(offset) == value or newer, f"{member} lost {value} at {offset}"
