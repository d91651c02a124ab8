"""The report's files: all forms are written to a folder, and one is printed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path

from barnabas.analysis.report.as_html import html
from barnabas.analysis.report.as_json import write_json
from barnabas.analysis.report.as_text import summary, text
from barnabas.analysis.report.document import Document

_PRINTED_LINES = 200
"""The most lines of text that are printed; ``report.txt`` holds all."""


REPORTS = ("report.html", "report.json", "report.txt")
"""The names of a report's files."""


class Format(StrEnum):
    """The form of the report that is printed; all three files are always written."""

    HTML = "html"
    TEXT = "text"
    JSON = "json"


def write_report(
    document: Document, folder: Path, form: Format = Format.HTML, *, shown: str | None = None
) -> None:
    """Write ``report.html``, ``report.json`` and ``report.txt`` into ``folder``, and print one of them.

    Args:
        document: The report.
        folder: The folder for the files; those of an earlier run are replaced.
        form: The form to print. ``HTML`` prints the summary and the file's path, the others the report
            itself.
        shown: The folder's name for the reader, if the files do not stay in ``folder``.
    """
    page, data, words = (folder / name for name in REPORTS)
    place = str(folder.absolute()) if shown is None else shown
    page.write_text(html(document), encoding="utf-8")
    with data.open("w", encoding="utf-8") as target:
        write_json(target, document)
    words.write_text("".join(f"{line}\n" for line in text(document)), encoding="utf-8")
    match form:
        case Format.HTML:
            _print([*summary(document), f"Open {place}/{page.name} in a browser."])
        case Format.TEXT:
            _print(_cut(text(document), f"{place}/{words.name}"))
        case Format.JSON:
            write_json(sys.stdout, document)


def _cut(lines: Iterator[str], path: str) -> Iterator[str]:
    yield from islice(lines, _PRINTED_LINES)
    rest = sum(1 for _ in lines)
    if rest:
        yield f"... and {rest:,} lines more in {path}"


def _print(lines: Iterable[str]) -> None:
    # Characters that the terminal's encoding lacks are replaced.
    letters = sys.stdout.encoding or "utf-8"
    sys.stdout.writelines(f"{line}\n".encode(letters, "replace").decode(letters) for line in lines)
    sys.stdout.flush()
