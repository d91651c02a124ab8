"""The live page: a cluster in a browser, as it changes, and the buttons that make it fail."""

import importlib.util

NEEDS = "the live page needs a web server: pip install 'barnabas[page]'"
"""The message where the extra ``page`` is not installed."""


def is_installed() -> bool:
    """Return whether the extra ``page`` is installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("starlette", "uvicorn"))
