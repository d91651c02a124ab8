from __future__ import annotations

import pytest
from confluent_kafka.admin import ResourcePatternType, ResourceType

from barnabas.bench.cases.hostile import longest_turn_s, others_acls, turns


def test_the_acls_are_somebody_elses_literal_and_prefixed_for_topics_and_groups():
    found = others_acls(100)
    assert {each.principal for each in found} == {f"User:{number}" for number in range(10)}
    assert {each.resource_pattern_type for each in found} == {
        ResourcePatternType.LITERAL,
        ResourcePatternType.PREFIXED,
    }
    assert {each.restype for each in found} == {ResourceType.TOPIC, ResourceType.GROUP}
    assert len({(each.restype, each.name, each.resource_pattern_type) for each in found}) == 10
    assert len(set(found)) == 100


def page(*counts):
    bounds = ("0.01", "0.02", "+Inf")
    rows = zip(bounds, counts, strict=True)
    return "\n".join(f'barnabas_event_loop_cpu_seconds_bucket{{le="{bound}"}} {n}' for bound, n in rows)


@pytest.mark.parametrize(
    ("after", "longest"),
    [((5, 6, 6), 0.0), ((9, 10, 10), 0.01), ((9, 11, 11), 0.02), ((9, 11, 12), float("inf"))],
)
def test_the_longest_turn_is_the_highest_bucket_that_grew(after, longest):
    assert longest_turn_s(turns(page(5, 6, 6)), turns(page(*after))) == longest
