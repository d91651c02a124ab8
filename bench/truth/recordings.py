"""Recordings of scenarios as files: the truth in ``NAME.json``, the logs in ``NAME.txt``.

In the text each log stands after a line ``== NAME``. A recording that was just played has its measurements,
too, in ``NAME.measured``, so that the truth can be derived again by a better program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from barnabas.analysis.story.incident import Incident
from barnabas.analysis.story.incidents import incidents
from barnabas.analysis.story.sentences.incidents import details, headline
from barnabas.bench.truth import measurements
from barnabas.bench.truth.claims import observed, read
from barnabas.bench.truth.derive import truth_of
from barnabas.bench.truth.judge import falsehoods
from barnabas.bench.truth.measured import Measured
from barnabas.bench.truth.truths import Truth, as_json, from_json

_MEASURED = ".measured"
_LOG = re.compile(r"^== ", re.MULTILINE)


def keep(directory: Path, name: str, truth: Truth, logs: Mapping[str, str]) -> Path:
    """Write a recording, and return the path of its truth."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{name}.json"
    path.write_text(json.dumps(as_json(truth), indent=1) + "\n", encoding="utf-8")
    parts = (f"== {log}\n{text}" for log, text in logs.items())
    path.with_suffix(".txt").write_text("".join(parts), encoding="utf-8")
    return path


def keep_measured(path: Path, measured: Measured) -> None:
    """Write the measurements of a recording, by the path of its truth."""
    text = json.dumps(measurements.as_json(measured))
    path.with_suffix(_MEASURED).write_text(text + "\n", encoding="utf-8")


def derive_again(path: Path) -> None:
    """Derive the truth of a recording again, if its measurements were kept."""
    kept = path.with_suffix(_MEASURED)
    if kept.exists():
        measured = measurements.from_json(json.loads(kept.read_text(encoding="utf-8")))
        path.write_text(json.dumps(as_json(truth_of(measured)), indent=1) + "\n", encoding="utf-8")


def load(path: Path) -> tuple[Truth, dict[str, str]]:
    """Read a recording by the path of its truth."""
    truth = from_json(json.loads(path.read_text(encoding="utf-8")))
    _, *parts = _LOG.split(path.with_suffix(".txt").read_text(encoding="utf-8"))
    return truth, dict(part.split("\n", 1) for part in parts)


def judged(path: Path) -> tuple[list[Incident], list[str]]:
    """Return the story of a recording, and its errors."""
    truth, logs = load(path)
    story = incidents(observed(read(logs)))
    return story, falsehoods(truth, story)


def sentences(story: list[Incident]) -> list[str]:
    """Return the sentences of a story, those after the first of an incident indented."""
    return [
        line
        for incident in story
        for line in (headline(incident).text, *(f"  {each.text}" for each in details(incident)))
    ]
