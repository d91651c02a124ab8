from __future__ import annotations

import pytest
from confluent_kafka.admin import ResourcePatternType, ResourceType

from barnabas.bench.cases.hostile import BENCHES, HEADER, Cost, longest_turn_s, others_acls, turns
from barnabas.bench.harness.registry import Direction


def test_it_is_the_bench_that_was_asked_for():
    assert [bench.name for bench in BENCHES] == ["hostile", "hostile-acls"]
    for bench in BENCHES:
        assert (bench.unit, bench.target.figure) == ("ms", 20.0)
        assert bench.target.direction is Direction.AT_MOST
    assert BENCHES[1].sizes["acls"] == 10_000


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


def test_a_line_of_the_table_tells_what_one_request_costs():
    cost = Cost("delete_records", 1_000, 0.5, 20, 10_000, 0.0042, 0.02, 123.4)
    assert str(cost).split() == ["delete_records", "1,000", "10,000", "25.00", "2500", "4.2", "20", "123"]
    assert len(str(cost)) == len(HEADER)


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
