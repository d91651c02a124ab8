"""Golden incidents: small logs, and the story that a person wrote from their lines before the code ran.

A file holds the expected sentences, each with its incident's further sentences indented, then the logs, each
after a line ``== NAME``. A ``~`` in an expected sentence stands for any text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.analysis.story.incidents import incidents
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.sentences import details, headline

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.txt"))


def parted(text: str) -> tuple[list[str], dict[str, str], int | None]:
    """The expected sentences, the logs by name, and min.insync.replicas if the file gives it."""
    head, *parts = re.split(r"^== ", text, flags=re.MULTILINE)
    logs = dict(part.split("\n", 1) for part in parts)
    told = [line for line in head.splitlines() if line and not line.startswith("#")]
    given = next((line for line in told if line.startswith("min.insync.replicas=")), None)
    return [line for line in told if line != given], logs, None if given is None else int(given.split("=")[1])


def told(observed: Observed) -> list[str]:
    days = {time.date() for times in observed.spoken.values() for time in times}
    day = days.pop() if len(days) == 1 else None
    return [
        line
        for incident in incidents(observed)
        for line in (
            headline(incident, day).text,
            *(f"  {each.text}" for each in details(incident, day)),
        )
    ]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_the_story_is_the_one_that_a_person_reads_from_the_lines(
    path: Path, observe: Callable[..., Observed]
) -> None:
    expected, logs, min_insync = parted(path.read_text(encoding="utf-8"))
    found = told(observe(logs, min_insync))
    assert len(found) == len(expected), "\n".join(found)
    for line, wanted in zip(found, expected, strict=True):
        pattern = ".*".join(re.escape(part) for part in wanted.split("~"))
        assert re.fullmatch(pattern, line), f"\nexpected {wanted}\nfound    {line}"
