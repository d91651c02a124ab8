"""A pool whose block ends: what has not begun is cancelled after an error."""

from __future__ import annotations

import threading

import pytest

from barnabas.analysis.runtime.threads import threads


def test_all_work_is_done_at_the_end_of_the_block() -> None:
    done: list[int] = []
    with threads(2) as pool:
        for each in range(9):
            pool.submit(done.append, each)
    assert sorted(done) == list(range(9))


def test_after_an_error_only_what_has_begun_ends() -> None:
    done: list[str] = []
    begun, failed = threading.Event(), threading.Event()

    def first() -> None:
        begun.set()
        failed.wait(60)
        done.append("first")

    def fail() -> None:
        with threads(1) as pool:
            pool.submit(first)
            pool.submit(done.append, "second").add_done_callback(lambda _: failed.set())
            begun.wait(60)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert done == ["first"]
