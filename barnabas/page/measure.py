"""Throughput and lag from the brokers' metrics, read only while somebody looks at the page."""

from __future__ import annotations

import asyncio
import re
import urllib.parse
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from barnabas.cluster.model.ids import TopicPartition
from barnabas.page.model import ClusterState, Json

END_OFFSET = "kafka_log_Log_LogEndOffset"

_TIMEOUT_S = 1.0
_SAMPLE = re.compile(
    rf'^{END_OFFSET}\{{(?=[^}}]*\bpartition="(\d+)")(?=[^}}]*\btopic="([^"]*)")[^}}]*\}} (\S+)', re.MULTILINE
)

EndOffsets = Mapping[int, Mapping[TopicPartition, int]]
"""The log end offset of each replica, by broker id and partition."""


def parse_end_offsets(page: str) -> dict[TopicPartition, int]:
    """Return the log end offsets on a page of metrics."""
    return {
        TopicPartition(topic, int(number)): int(float(value))
        for number, topic, value in _SAMPLE.findall(page)
    }


def figures(state: ClusterState, before: EndOffsets, after: EndOffsets, seconds: float) -> Json:
    """Return throughput and lag.

    Args:
        state: The cluster, for the leaders.
        before: The earlier end offsets.
        after: The end offsets now.
        seconds: The time between the two.

    Returns:
        ``rate``, the records that all leaders appended a second; ``rates`` by topic; ``broker_rates`` by the
        leader's id; ``lags``, the records that replicas are behind, by partition and broker id; replicas that
        are not behind are left out.
    """
    rates: dict[str, float] = {}
    broker_rates: dict[str, float] = {}
    lags: dict[str, dict[str, int]] = {}
    for partition, view in state.partitions.items():
        end = after.get(view.leader, {}).get(partition)
        if end is None:
            continue
        former = before.get(view.leader, {}).get(partition, end)
        rate = max(0, end - former) / seconds
        rates[partition.topic] = rates.get(partition.topic, 0.0) + rate
        broker_rates[str(view.leader)] = broker_rates.get(str(view.leader), 0.0) + rate
        behind = {
            str(replica): end - offset
            for replica in view.replicas
            if (offset := after.get(replica, {}).get(partition)) is not None and offset < end
        }
        if behind:
            lags[f"{partition.topic}-{partition.partition}"] = behind
    return {
        "rate": round(sum(rates.values()), 1),
        "rates": {topic: round(each, 1) for topic, each in rates.items()},
        "broker_rates": {broker: round(each, 1) for broker, each in broker_rates.items()},
        "lags": lags,
    }


class EndOffsetReader:
    """Reads the end offsets of all brokers at once.

    Args:
        metrics: The ``host:port`` of each broker's metrics by id.
    """

    def __init__(self, metrics: Mapping[int, str]) -> None:
        self._metrics = metrics
        self._threads = ThreadPoolExecutor(max(1, len(metrics)), thread_name_prefix="page-metrics")

    async def read(self) -> dict[int, dict[TopicPartition, int]]:
        """Return the end offsets by broker; a broker that does not answer is left out."""
        loop = asyncio.get_running_loop()
        pages = await asyncio.gather(
            *(loop.run_in_executor(self._threads, _page, address) for address in self._metrics.values())
        )
        return {
            broker: parse_end_offsets(page) for broker, page in zip(self._metrics, pages, strict=True) if page
        }


def _page(address: str) -> str:
    query = urllib.parse.urlencode({"name[]": END_OFFSET})
    try:
        with urllib.request.urlopen(f"http://{address}/metrics?{query}", timeout=_TIMEOUT_S) as answer:
            content: bytes = answer.read()
    except OSError:
        return ""
    return content.decode(errors="replace")
