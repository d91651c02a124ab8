"""The schemas of the derived tables in Arrow, as Spark computes them."""

from __future__ import annotations

import pyarrow as pa

_INT, _LONG, _TEXT, _TIME = pa.int32(), pa.int64(), pa.string(), pa.timestamp("us")
_INTS, _TEXTS = pa.list_(pa.field("element", _INT)), pa.list_(pa.field("element", _TEXT))

_CONDITIONS = pa.schema([
    ("condition", _TEXT), ("broker", _INT), ("subject", _INT), ("source", _TEXT), ("since", _TIME),
    ("until", _TIME), ("lines", _LONG), ("names", _TEXTS), ("named", _LONG), ("records", _LONG),
    ("silent_ms", _LONG), ("error", _TEXT), ("block", _LONG), ("line", _LONG), ("raw", _TEXT),
])  # fmt: skip

DERIVED_ARROW: dict[str, pa.Schema] = {
    "controllers": pa.schema([
        ("controller_epoch", _INT), ("controller", _INT), ("since", _TIME), ("until", _TIME),
        ("lines", _LONG), ("changes", _LONG), ("refused", _LONG), ("next_controller", _INT),
        ("next_since", _TIME), ("previous_controller", _INT),
    ]),
    "lives": pa.schema([
        ("topic", _TEXT), ("partition", _INT), ("life", _INT), ("born", _TIME), ("deleted", _TIME),
        ("replicas", _INTS),
    ]),
    "states": pa.schema([
        ("topic", _TEXT), ("partition", _INT), ("life", _INT), ("leader_epoch", _INT), ("version", _INT),
        ("leader", _INT), ("isr", _INTS), ("replicas", _INTS), ("adding", _INTS), ("removing", _INTS),
        ("controller_epoch", _INT), ("controller", _INT), ("decided", _TIME), ("first_logged", _TIME),
        ("led_at", _TIME), ("from", _TEXT), ("removed", _INT), ("election", _TEXT), ("changed", _TIME),
        ("raw", _TEXT), ("source", _TEXT), ("block", _LONG), ("line", _LONG), ("broker", _INT),
    ]),
    "broker_events": pa.schema([
        ("time", _TIME), ("kind", _TEXT), ("role", _TEXT), ("broker", _INT), ("subject", _INT),
        ("added_brokers", _INTS), ("lost_brokers", _INTS), ("bounced_brokers", _INTS),
        ("live_brokers", _INTS), ("contact", _TEXT), ("error", _TEXT), ("broker_epoch", _LONG),
        ("incarnation", _TEXT), ("cluster_id", _TEXT), ("controller", _INT), ("controller_epoch", _INT),
        ("topic", _TEXT), ("partition", _INT), ("count", _INT), ("minimum", _INT), ("duration_ms", _LONG),
        ("settings", _TEXTS), ("source", _TEXT), ("block", _LONG), ("line", _LONG), ("raw", _TEXT),
    ]),
    "delays": pa.schema([
        ("controller", _INT), ("broker", _INT), ("decisions", _LONG), ("least_ms", _LONG),
        ("median_ms", _LONG), ("led_ms", _LONG), ("excess_ms", _LONG),
    ]),
    "requests": pa.schema([
        ("api", _TEXT), ("broker", _INT), ("controller", _INT), ("controller_epoch", _INT),
        ("correlation_id", _INT), ("partitions", _INT), ("sent", _TIME), ("received", _TIME),
        ("finished", _TIME), ("duration_ms", _LONG), ("answered", _TIME), ("outcome", _TEXT),
    ]),
    "leaders": pa.schema([
        ("topic", _TEXT), ("partition", _INT), ("life", _INT), ("leader", _INT), ("leader_epoch", _INT),
        ("controller_epoch", _INT), ("controller", _INT), ("since", _TIME), ("led_at", _TIME),
        ("until", _TIME), ("why", _TEXT), ("ended", _TEXT), ("isr", _INTS), ("last_isr", _INTS),
        ("version", _INT), ("last_version", _INT), ("previous_leader", _INT), ("previous_isr", _INTS),
        ("previous_version", _INT), ("replicas", _INTS), ("election", _TEXT),
        ("raw", _TEXT),
    ]),
    "isr": pa.schema([
        ("topic", _TEXT), ("partition", _INT), ("life", _INT), ("leader", _INT), ("leader_epoch", _INT),
        ("version", _INT), ("isr", _INTS), ("size", _INT), ("assigned", _INT), ("left", _INTS),
        ("joined", _INTS), ("since", _TIME), ("until", _TIME), ("seen_until", _TIME), ("unseen", _INT),
    ]),
    "conditions": _CONDITIONS,
    "computed_conditions": _CONDITIONS,
}  # fmt: skip
"""The schema of each table by name."""
