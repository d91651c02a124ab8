"""A real browser for tests of pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def started_browser() -> Iterator[Browser]:
    """Start the Chromium of this machine; without one, skip the tests, or fail if REQUIRE_BROWSER is 1."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        reason = f"no browser is installed: looked for {', '.join(_NAMES)}"
        if os.environ.get("REQUIRE_BROWSER") == "1":
            pytest.fail(f"REQUIRE_BROWSER=1, but {reason}")
        pytest.skip(reason)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()
