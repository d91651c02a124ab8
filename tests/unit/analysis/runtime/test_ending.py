"""The end by a signal, in processes of their own: it discards their standard error."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from barnabas.analysis.runtime.ending import Ended, undisturbed, until_signal

# "Java" that never reads what it is asked, so that its death resets the connection.
RESET = """
import os, signal, subprocess, sys
from py4j.clientserver import ClientServer, JavaParameters, PythonParameters
from barnabas.analysis.runtime import gateway
from barnabas.analysis.runtime.ending import until_signal
from barnabas.analysis.runtime.threads import threads

DEAF = '''
import socket, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
connection, _ = server.accept()
connection.recv(1, socket.MSG_PEEK)
print("asked", flush=True)
time.sleep(600)
'''

def work():
    java = subprocess.Popen([sys.executable, "-c", DEAF], stdout=subprocess.PIPE)
    gateway._started.append(java)
    client = ClientServer(
        JavaParameters(port=int(java.stdout.readline())), PythonParameters(port=0, eager_load=False)
    )
    with threads(1) as pool:
        pool.submit(lambda: client.jvm.java)
        assert java.stdout.readline() == b"asked\\n"
        signal.raise_signal(getattr(signal, sys.argv[1]))
    return 0

sys.exit(until_signal(work))
"""

DROPPED = """
import signal, sys, weakref
from barnabas.analysis.runtime.ending import until_signal

class Thing:
    pass

def work():
    thing = Thing()
    watched = weakref.ref(thing, lambda _: signal.raise_signal(getattr(signal, sys.argv[1])))
    del thing
    return 0

sys.exit(until_signal(work))
"""

FAILED = """
import signal, sys
from barnabas.analysis.runtime.ending import until_signal

def work():
    try:
        signal.raise_signal(getattr(signal, sys.argv[1]))
    finally:
        raise OSError("in the end")

sys.exit(until_signal(work))
"""

LIBRARY = """
import signal, sys
from barnabas.analysis.runtime.ending import until_signal

def work():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.raise_signal(getattr(signal, sys.argv[1]))
    return 0

sys.exit(until_signal(work))
"""

DEFERRED = """
import signal, sys
from barnabas.analysis.runtime.ending import deferred, until_signal

def work():
    with deferred():
        with deferred():
            signal.raise_signal(getattr(signal, sys.argv[1]))
        print("inside", flush=True)
    print("after", flush=True)
    return 0

sys.exit(until_signal(work))
"""

# The thread is told when the block has ended; a block that waits for it never tells.
WAITED = """
import signal, sys, threading
from barnabas.analysis.runtime import gateway
from barnabas.analysis.runtime.ending import until_signal
from barnabas.analysis.runtime.threads import threads

left = threading.Event()

def last(main):
    signal.pthread_kill(main, getattr(signal, sys.argv[1]))
    gateway._abandoned.wait()
    print("left" if left.wait(0.5) else "waited for", flush=True)

def work():
    try:
        with threads(1) as pool:
            pool.submit(last, threading.get_ident())
    finally:
        left.set()
    return 0

sys.exit(until_signal(work))
"""


def ran(program: str, *words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", program, *words], check=False, capture_output=True, text=True, timeout=300
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
@pytest.mark.parametrize(
    "program", [RESET, DROPPED, FAILED, LIBRARY], ids=["reset", "dropped", "failed", "set"]
)
def test_the_end_is_quiet_wherever_the_signal_arrives(program: str, name: str) -> None:
    assert ran(program, name) == (128 + getattr(signal, name), "", "")


def test_a_thread_is_waited_for_though_the_signal_interrupts_the_wait() -> None:
    assert ran(WAITED, "SIGTERM") == (143, "waited for\n", "")


def test_a_block_may_end_before_the_run_does() -> None:
    assert ran(DEFERRED, "SIGTERM") == (143, "inside\n", "")


def test_without_a_signal_the_result_counts_and_so_does_an_exception() -> None:
    formers = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)]
    assert until_signal(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        until_signal(lambda: 1 // 0)
    assert [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)] == formers


def test_an_undisturbed_block_ignores_signals() -> None:
    with undisturbed():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)


def test_after_the_signal_nothing_begins_that_must_not_be_disturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.analysis.runtime.ending.is_abandoned", lambda: True)
    begun = False
    with pytest.raises(Ended), undisturbed():
        begun = True
    assert not begun
