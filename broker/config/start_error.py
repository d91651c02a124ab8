"""The error that prevents a broker's start."""

from __future__ import annotations


class StartError(Exception):
    """An error that prevents the broker's start; the message is one line with the thing and the value."""
