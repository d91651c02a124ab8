"""The error that keeps a broker from starting."""

from __future__ import annotations


class StartError(Exception):
    """The broker cannot start; the message is one line that names the thing and the value."""
