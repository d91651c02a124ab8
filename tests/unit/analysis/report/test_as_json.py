"""The report for a program."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from barnabas.analysis.report.as_json import write_json
from barnabas.analysis.report.document import Document


def test_the_document_as_one_object(document: Document) -> None:
    target = io.StringIO()
    write_json(target, [document])
    told = json.loads(target.getvalue())
    assert (told["lines"], told["pictured"], told["start"]) == (
        60,
        [["orders", 3]],
        "2026-11-21T03:00:00.000",
    )
    assert (told["version"], told["time_zone"]) == (2, "UTC")
    assert told["stretches"][0]["earliest"] == "2026-11-21T03:12:02.000"


def test_there_is_no_word_for_anything_else(document: Document) -> None:
    with pytest.raises(TypeError, match="holds no set"):
        write_json(io.StringIO(), [replace(document, counts={"odd": {1}})])  # type: ignore[dict-item]
