from barnabas.bench.cases.produce import BENCHES


def test_the_targets_are_those_that_were_asked_for():
    targets = {bench.name: (bench.target.figure, bench.unit) for bench in BENCHES}
    assert targets == {"produce-1k": (100.0, "MB/s"), "produce-100b": (400_000.0, "records/s")}


def test_one_producer_writes_unless_more_are_asked_for():
    assert [bench.sizes for bench in BENCHES] == [{"producers": 1}, {"producers": 1}]
    assert BENCHES[0].sized({"producers": 3}).sizes == {"producers": 3}
