"""The end of a run by SIGTERM, Ctrl-C or a closed pipe: without tracebacks, with a shell's exit code."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TextIO

from barnabas.analysis.runtime.gateway import abandon, is_abandoned

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Ended(BaseException):
    """The end of a run by a signal."""


class _Deferral:
    """Blocks of the main thread that ``Ended`` must not interrupt: their depth, and whether it is due."""

    depth = 0
    is_due = False


def until_signal(work: Callable[[], int]) -> int:
    """Call ``work`` and return its result, or 128 + the number of the signal that ended it.

    A pipe that its reader closed, as ``| head`` does, ends it as SIGPIPE would, which Python ignores.

    SIGTERM and SIGINT discard what is written to standard error from then on, kill Java, so that no thread
    waits for its answers, and raise ``Ended`` in the main thread. Only the main thread can do this; in
    another one ``work`` is only called.

    After a signal neither the result nor an exception of ``work`` counts. If the signal arrives in the
    callback of a weak reference (py4j has one for each Java object), Python reports the exception and drops
    it: then ``work`` continues without Java, and fails in any way.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    received: list[int] = []
    code = 0

    def end(number: int, _frame: FrameType | None) -> None:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        received.append(number)
        _silence()
        abandon()
        if _Deferral.depth:
            _Deferral.is_due = True
            return
        raise Ended

    formers = {each: signal.getsignal(each) for each in _SIGNALS}
    try:
        try:
            for each in _SIGNALS:
                signal.signal(each, end)
            code = work()
        finally:
            for each, former in formers.items():
                signal.signal(each, former)
    except KeyboardInterrupt:
        # From a handler of SIGINT that a library has set.
        received.append(signal.SIGINT)
    except BrokenPipeError:
        # At its end Python would write the buffered output and fail again.
        _discard(sys.stdout)
        received.append(signal.SIGPIPE)
    except BaseException:
        if not received:
            raise
    return 128 + received[0] if received else code


@contextmanager
def deferred() -> Iterator[None]:
    """Defer a signal to the end of the block, which should take milliseconds, and raise ``Ended`` then."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _Deferral.depth += 1
    try:
        yield
    finally:
        _Deferral.depth -= 1
        if _Deferral.is_due and not _Deferral.depth:
            _Deferral.is_due = False
            raise Ended


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore the signals that end a run for a block; only the main thread can, elsewhere nothing changes.

    Raises:
        Ended: A signal has ended the run before.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    formers = {each: signal.signal(each, signal.SIG_IGN) for each in _SIGNALS}
    try:
        if is_abandoned():
            raise Ended
        yield
    finally:
        for each, former in formers.items():
            signal.signal(each, former)


def _silence() -> None:
    """Discard what this process writes to standard error from now on; clear a bar that is drawn there.

    What fails because Java is gone fails in threads of this package, of py4j and of PySpark. They report it
    through the root logger, ``socketserver`` and ``threading.excepthook``. py4j does so where Java had not
    read a command yet, because the kernel then resets the connection; where Java had read it, py4j gets the
    end of the stream and is quiet.
    """
    with suppress(OSError, ValueError, AttributeError):
        if sys.stderr.isatty():
            os.write(sys.stderr.fileno(), b"\r\033[K")
    _discard(sys.stderr)


def _discard(stream: TextIO) -> None:
    """Discard what this process writes to a stream from now on, if it has a file."""
    with suppress(OSError, ValueError, AttributeError):
        number = stream.fileno()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, number)
        os.close(null)
