"""The targets of benches: those that were asked for, growing with the size that a bench names."""

import pytest

from barnabas.bench.cases import broker_death, controlled_shutdown, controller_failover, create_topic
from barnabas.bench.cases.produce import BENCHES as PRODUCE
from barnabas.bench.cases.produce_secured import BENCHES as SECURED


@pytest.mark.parametrize(
    ("module", "size", "number", "figure"),
    [
        (broker_death, "leaders", 2000, 1),
        (controlled_shutdown, "leaders", 2000, 1),
        (controller_failover, "partitions", 100_000, 5),
        (create_topic, "partitions", 500, 1.5),
    ],
    ids=["broker-death", "controlled-shutdown", "controller-failover", "create-topic"],
)
def test_the_target_grows_with_the_size(module, size, number, figure):
    (bench,) = module.BENCHES
    assert list(bench.sizes) == [size]
    assert bench.sized({size: number}).target.figure == figure


def test_each_bench_of_producers_has_its_target():
    targets = {bench.name: (bench.target.figure, bench.unit) for bench in (*PRODUCE, *SECURED)}
    assert targets == {
        "produce-1k": (100.0, "MB/s"),
        "produce-100b": (400_000.0, "records/s"),
        "produce-secured": (0.4, "of plaintext"),
    }


def test_one_producer_writes_unless_more_are_asked_for():
    assert [bench.sizes for bench in PRODUCE] == [{"producers": 1}, {"producers": 1}]
    assert PRODUCE[0].sized({"producers": 3}).sizes == {"producers": 3}
