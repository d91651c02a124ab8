from __future__ import annotations

import pytest

from barnabas.bench.cases.recovery import files_of, measure, read_all, recover, write_and_kill


def test_a_small_run_has_a_figure():
    run = measure(3)
    assert run.figure > 0
    assert run.details["MB/s of the disk"] > 0


def test_a_log_that_ends_too_early_is_no_figure(tmp_path):
    told = write_and_kill(tmp_path, 1)
    assert read_all(files_of(tmp_path)) > 0
    recover(tmp_path, told)
    with pytest.raises(RuntimeError, match="expected 999999 or more"):
        recover(tmp_path, 999_999)
