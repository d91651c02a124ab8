"""The report as one JSON object, for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, TextIO

from barnabas.analysis.report.document import Document

VERSION = 2
"""The version of the JSON; it rises when a field changes its meaning or goes away (docs/report-json.md)."""

TIME_ZONE = "UTC"
"""The zone of all times; the lines that are quoted are as they were written."""


def write_json(target: TextIO, documents: Sequence[Document]) -> None:
    """Write the attributes of a document by name, with times such as ``2026-11-21T03:12:45.678``.

    The documents of several clusters are the elements of ``clusters``.
    """
    content: dict[str, Any] = {"version": VERSION, "time_zone": TIME_ZONE}
    if len(documents) == 1:
        content |= _content(documents[0])
    else:
        content["clusters"] = [_content(each) for each in documents]
    json.dump(content, target, default=_plain, indent=1)
    target.write("\n")


def _content(document: Document) -> dict[str, Any]:
    # Not as asdict does it, which first copies all rows.
    return {each.name: getattr(document, each.name) for each in fields(document)}


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    raise TypeError(f"a report holds no {type(value).__name__}: {value!r}")
