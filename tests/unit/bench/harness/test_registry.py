import pytest

from barnabas.bench import cases
from barnabas.bench.cases import load
from barnabas.bench.harness.registry import Direction, at_least, at_most

EXPECTED = {"startup", "broker-failover", "produce-1k", "idle-memory"} | {
    "controller-failover",
    "controlled-shutdown",
    "broker-death",
    "create-topic",
}


def test_every_bench_that_is_promised_is_there_with_unit_and_target():
    benches = load()
    assert set(benches) >= EXPECTED
    for name, found in benches.items():
        assert found.name == name
        assert found.unit
        assert found.question
        assert found.runs >= 1
        assert found.target.figure > 0


def test_a_target_knows_its_good_side():
    assert at_most(5.0).is_met_by(5.0)
    assert not at_most(5.0).is_met_by(5.1)
    assert at_least(60.0).is_met_by(60.0)
    assert not at_least(60.0).is_met_by(59.9)
    assert at_most(1).direction is Direction.AT_MOST


def test_two_benches_of_one_name_are_refused(tmp_path, monkeypatch):
    twin = "from barnabas.bench.cases.startup import BENCHES\n"
    (tmp_path / "zz_twin_for_test.py").write_text(twin)
    monkeypatch.setattr(cases, "__path__", [*cases.__path__, str(tmp_path)])
    with pytest.raises(ValueError, match=r"'startup' is defined twice, .*zz_twin_for_test"):
        load()
