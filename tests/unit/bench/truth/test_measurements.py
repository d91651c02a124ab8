from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

from barnabas.bench.truth.derive import truth_of
from barnabas.bench.truth.measured import Deed, Measured, at, span
from barnabas.bench.truth.measurements import as_json, from_json
from barnabas.bench.truth.probe import Answer
from barnabas.bench.truth.recordings import derive_again, keep, keep_measured, load
from barnabas.bench.truth.scenarios import Action
from barnabas.bench.truth.truths import FailedDisk, Tenure, Truth
from barnabas.bench.truth.znodes import Registration, Written, Znodes

MEASURED = Measured(
    window=span(0, 100),
    deeds=[
        Deed(1, Action.KILL, span(10, 10.1), span(20, 21)),
        Deed(2, Action.CUT, span(30, 30.1), None),
    ],
    znodes=Znodes(
        [Registration(1, 11, at(-1), at(12)), Registration(1, 12, at(20.5))],
        [Tenure(1, 4, at(-1)), Tenure(2, 5, at(12))],
        {"a-0": [Written(at(1), 1, 0, (1, 2)), Written(at(12.5), 2, 1, (2,))]},
    ),
    answers={(2, "a-0"): [Answer(9.5, 9.6, led=False), Answer(12.6, 12.7, led=True)]},
    partitions=["a-0"],
    session=timedelta(seconds=3),
    min_insync=2,
    disks=[FailedDisk(3, span(40, 41), ("a-0",))],
)


def test_measurements_survive_json() -> None:
    assert from_json(json.loads(json.dumps(as_json(MEASURED)))) == MEASURED


def test_the_truth_of_a_recording_is_derived_again_from_its_measurements(tmp_path: Path) -> None:
    path = keep(tmp_path, "old", Truth(()), {"broker-1/server.log": ""})
    derive_again(path)
    assert load(path)[0] == Truth(())  # without measurements it stays
    keep_measured(path, MEASURED)
    derive_again(path)
    assert load(path)[0] == truth_of(MEASURED)
    assert len(truth_of(MEASURED).departures) == 2
