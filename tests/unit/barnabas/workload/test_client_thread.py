import threading

import pytest

from barnabas.workload.client_thread import ClientThread


def test_the_work_runs_until_it_is_stopped():
    began, ended = threading.Event(), threading.Event()

    def work():
        began.set()
        while not thread.is_stopping:
            thread.pause(60)

    thread = ClientThread("worker", work)
    thread.start(ended.set)
    assert began.wait(20)
    assert not thread.has_ended
    thread.halt()
    assert ended.wait(20)
    thread.join()
    assert thread.has_ended
    thread.check()


def test_the_error_that_ends_the_work_is_raised():
    def work():
        raise ValueError("no more")

    thread = ClientThread("worker", work)
    thread.start()
    thread.join()
    with pytest.raises(ValueError, match="no more"):
        thread.check()


def test_work_that_has_not_begun_has_not_ended():
    thread = ClientThread("worker", lambda: None)
    with pytest.raises(TimeoutError):
        thread.check()
