"""A disk that does not keep tests waiting, and one that fails on demand."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed process loses nothing that was written: what fsync adds can be seen by nobody here."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


class Fault(Enum):
    """In which way a disk fails."""

    FULL = "full"
    """From one call on nothing more can be written; what goes beyond the room that is left is not."""
    READ_ONLY = "read-only"
    """From one call on nothing may be changed: file systems do this when the device below fails."""
    BROKEN = "broken"
    """One call fails with an I/O error."""
    SHORT = "short"
    """From one call on each writes less than it was given, and says so: no failure at all."""


_CHANGING = ("open", "pwritev", "pwrite", "ftruncate", "fsync", "mkdir", "rename", "replace", "unlink")
_ROOM_NEEDED = {"pwritev", "pwrite", "open", "mkdir", "ftruncate"}
_ERRORS = {Fault.FULL: errno.ENOSPC, Fault.READ_ONLY: errno.EROFS, Fault.BROKEN: errno.EIO}


class FaultyDisk:
    """Counts the calls that change what lies in a directory, and has one of them fail.

    Attributes:
        calls: How many there were.
        has_failed: Whether any was refused.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
        self.calls = 0
        self.has_failed = False
        self._directory = str(directory)
        self._fault: Fault | None = None
        self._at = 0
        self._fds: set[int] = set()
        for name in (
            "open",
            "pwritev",
            "pwrite",
            "ftruncate",
            "fsync",
            "mkdir",
            "rename",
            "replace",
            "unlink",
        ):
            monkeypatch.setattr(os, name, self._wrapped(name, getattr(os, name)))

    def fail(self, fault: Fault, at: int) -> None:
        """Have the call number ``at``, counted from now, meet the fault."""
        self.calls, self.has_failed = 0, False
        self._fault, self._at = fault, at

    def heal(self) -> None:
        """Fail no more."""
        self._fault = None

    def _wrapped(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(target: Any, *arguments: Any, **more: Any) -> Any:
            if not self._is_here(name, target, arguments):
                return real(target, *arguments, **more)
            self.calls += 1
            if self._is_met(name):
                if name == "pwritev" and self._fault in {Fault.FULL, Fault.SHORT}:
                    data = b"".join(arguments[0])
                    written = os.pwrite(target, data[: len(data) // 2], arguments[1])
                    if self._fault is Fault.SHORT:
                        return written
                if self._fault is not Fault.SHORT:
                    self.has_failed = True
                    number = _ERRORS[self._fault]
                    raise OSError(number, os.strerror(number))
            result = real(target, *arguments, **more)
            if name == "open":
                self._fds.add(result)
            return result

        return call

    def _is_here(self, name: str, target: Any, arguments: tuple[Any, ...]) -> bool:
        if isinstance(target, int):
            return target in self._fds
        changes = name != "open" or bool(arguments[0] & (os.O_CREAT | os.O_WRONLY | os.O_RDWR))
        return changes and str(target).startswith(self._directory)

    def _is_met(self, name: str) -> bool:
        match self._fault:
            case Fault.FULL:
                return self.calls >= self._at and name in _ROOM_NEEDED
            case Fault.READ_ONLY | Fault.SHORT:
                return self.calls >= self._at
            case Fault.BROKEN:
                return self.calls == self._at
        return False


@pytest.fixture
def faulty_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FaultyDisk:
    """Under the test's own directory; it fails nothing until it is told to."""
    return FaultyDisk(monkeypatch, tmp_path)


@pytest.fixture(params=[fault for fault in Fault if fault is not Fault.SHORT], ids=lambda fault: fault.value)
def failure(request: pytest.FixtureRequest) -> Fault:
    """Each fault that a caller must notice."""
    return request.param


@pytest.fixture
def short_writes() -> Fault:
    """The fault that none must notice."""
    return Fault.SHORT


@pytest.fixture
def paths(tmp_path):
    return tmp_path / "one", tmp_path / "two"
