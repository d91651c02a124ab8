"""The report's files: all forms are written to a folder, and one is printed."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from html import escape
from itertools import islice
from pathlib import Path

from barnabas.analysis.derived.store import cluster_folder
from barnabas.analysis.report.as_html import page as page_of
from barnabas.analysis.report.as_json import write_json
from barnabas.analysis.report.as_markdown import markdown
from barnabas.analysis.report.as_text import summary, text
from barnabas.analysis.report.document import Document

_PRINTED_LINES = 200
"""The most lines of text that are printed; ``report.txt`` holds all."""


_GAP = "  "
"""The blanks between two columns, and before an indented line."""

_WIDTH_MIN = 40
"""The least width to which lines are folded, so that no narrow terminal leaves a column for each letter."""

REPORTS = ("report.html", "report.json", "report.txt")
"""The names of a report's files."""


class Format(StrEnum):
    """The form of the report that is printed; the first three are always written.

    ``MARKDOWN`` is the post-mortem of the worst incident.
    """

    HTML = "html"
    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


class NotPrintedError(Exception):
    """An error for a standard output that takes no more, while the report's files are complete."""


def write_report(document: Document, folder: Path, form: Format = Format.HTML) -> None:
    """Write the report of one cluster into ``folder``, and print one of the forms."""
    save_reports([document], folder)
    print_reports([document], form, str(folder.absolute()))


def save_reports(documents: Sequence[Document], folder: Path) -> None:
    """Write ``report.html``, ``report.json`` and ``report.txt``, replacing those of an earlier run.

    Each of several clusters has a report in a folder of its own; the files above have the reports of all, or
    the way to them.
    """
    page, data, words = (folder / name for name in REPORTS)
    if len(documents) == 1:
        page.write_text(page_of(documents[0]), encoding="utf-8")
    else:
        for number, document in enumerate(documents, 1):
            own = folder / cluster_folder(number)
            own.mkdir(exist_ok=True)
            save_reports([document], own)
        page.write_text(_ways(documents), encoding="utf-8")
    with data.open("w", encoding="utf-8") as target:
        write_json(target, documents)
    words.write_text("".join(f"{line}\n" for line in _all(documents, text)), encoding="utf-8")


def print_reports(documents: Sequence[Document], form: Format, place: str) -> None:
    """Print a form of the reports, one for each cluster.

    Args:
        documents: The reports.
        form: The form to print. ``HTML`` prints the summary and the file's path, the others the report
            itself.
        place: The folder of the reports' files, as it is called for the reader.

    Raises:
        BrokenPipeError: Standard output is a pipe that its reader has closed.
        NotPrintedError: Standard output takes no more for another reason.
    """
    page, _, words = REPORTS
    try:
        match form:
            case Format.HTML:
                _print([*_all(documents, summary), f"Open {place}/{page} in a browser."])
            case Format.TEXT:
                _print(_cut(_all(documents, text), f"{place}/{words}"))
            case Format.JSON:
                write_json(sys.stdout, documents)
            case Format.MARKDOWN:
                _print(_all(documents, lambda each: markdown(each).splitlines()), is_folded=False)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = f"cannot print the report: {error.strerror}; all of it is in {place!r}"
        raise NotPrintedError(reason) from error


def _all(documents: Sequence[Document], lines: Callable[[Document], Iterable[str]]) -> Iterator[str]:
    """Generate the lines of each report, below its title where there are several."""
    for number, document in enumerate(documents, 1):
        if len(documents) > 1:
            yield from ([""] if number > 1 else [])
            yield f"{_title(number, documents)}:"
        yield from lines(document)


def _title(number: int, documents: Sequence[Document]) -> str:
    return f"Cluster {number} of {len(documents)} whose logs are mixed here"


def _ways(documents: Sequence[Document]) -> str:
    """Return the page with the ways to the reports of several clusters, and their first sentences."""
    parts = [
        f'<p><a href="{cluster_folder(number)}/{REPORTS[0]}">{escape(_title(number, documents))}</a>: '
        f"{escape(next(iter(summary(document)), ''))}</p>"
        for number, document in enumerate(documents, 1)
    ]
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Several clusters</title>'
    return "\n".join([head, *parts, ""])


def _cut(lines: Iterator[str], path: str) -> Iterator[str]:
    yield from islice(lines, _PRINTED_LINES)
    rest = sum(1 for _ in lines)
    if rest:
        yield f"... and {rest:,} lines more in {path}"


def _print(lines: Iterable[str], *, is_folded: bool = True) -> None:
    if is_folded and sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        lines = (part for line in lines for part in folded(line, width))
    # Characters that the terminal's encoding lacks are replaced.
    letters = sys.stdout.encoding or "utf-8"
    sys.stdout.writelines(f"{line}\n".encode(letters, "replace").decode(letters) for line in lines)


def folded(line: str, width: int) -> list[str]:
    """Fold a line between words, so that a terminal of this width breaks none.

    What follows is indented as far as the text of the line's last column. A word that is longer than the
    width remains whole: it may be a path to copy.
    """
    if len(line) <= width:
        return [line]
    width = max(width, _WIDTH_MIN)
    column = line[: width // 2].rfind(_GAP)
    indent = " " * (column + len(_GAP) if column >= 0 else len(_GAP))
    return textwrap.wrap(
        line, width, subsequent_indent=indent, expand_tabs=False, replace_whitespace=False,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
