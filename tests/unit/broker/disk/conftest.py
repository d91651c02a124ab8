"""Logs on a disk that does not keep tests waiting."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed process loses nothing that was written: what fsync adds can be seen by nobody here."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
