from dataclasses import replace

from barnabas.bench.harness.registry import Bench, Run, at_most
from barnabas.bench.harness.report import Machine, Result, details, this_machine

BENCH = Bench("boil", "How long does an egg take?", "s", at_most(240), lambda: Run(1.0))
MACHINE = Machine("Hen 9000", 2, 24.0, "Linux 6.1", "CPython 3.11.7")


def result(*figures):
    return Result(BENCH, tuple(Run(figure, {"water_l": figure / 100}) for figure in figures), MACHINE)


def test_the_figure_is_the_median_of_the_runs():
    assert result(100.0, 900.0, 200.0).figure == 200.0
    assert result(100.0, 900.0, 200.0).met
    assert not result(300.0, 900.0, 200.0).met


def test_text_names_figure_target_spread_details_and_machine():
    text = result(300.0, 100.0, 200.0).as_text()
    assert text.splitlines()[0] == "boil: 200 s"
    assert "target ≤ 240 s: met" in text
    assert "spread 100 … 300 over 3 runs" in text
    assert "water_l: 2" in text
    assert "2 cores of Hen 9000, 24 GB" in text
    assert "MISSED" in result(500.0).as_text()


def test_json_has_the_keys_that_were_promised():
    body = result(300.0).as_json()
    assert {"name", "figure", "unit", "target", "met", "runs", "machine"} <= set(body)
    assert (body["figure"], body["target"], body["met"]) == (300.0, 240, False)
    assert body["runs"] == [{"figure": 300.0, "details": {"water_l": 3.0}}]
    assert body["machine"]["cores"] == 2


def test_a_detail_may_have_a_target_of_its_own():
    bench = replace(BENCH, limits={"water_l": at_most(2)})
    met, missed = (Result(bench, result(figure).runs, MACHINE) for figure in (200.0, 201.0))
    assert (met.met, missed.met) == (True, False)
    assert "  water_l: 2, target ≤ 2: met" in met.as_text().splitlines()
    assert "  water_l: 2.01, target ≤ 2: MISSED" in missed.as_text().splitlines()
    assert "  target ≤ 240 s: met" in missed.as_text().splitlines()
    assert missed.as_json()["limits"] == {"water_l": {"target": 2, "direction": "at_most"}}


def test_a_detail_that_only_some_runs_have_is_the_median_of_those():
    runs = [Run(1, {"a": 1.0}), Run(1, {"a": 3.0, "b": 5.0}), Run(1, {"a": 2.0})]
    assert details(runs) == {"a": 2.0, "b": 5.0}


def test_this_machine_is_described():
    machine = this_machine()
    assert machine.cores >= 1
    assert machine.memory_gb > 0
    assert machine.python.startswith("CPython 3.")
