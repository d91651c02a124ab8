"""Conditions that are written as SQL, such as ``size(left) > 0 and not is_new``."""

from __future__ import annotations

import re
from functools import cache

from barnabas.analysis.local.columns import Column, literal, named
from barnabas.analysis.local.functions import array_contains, size

_TOKEN = re.compile(r"\s*('[^']*'|\d+|[a-z_][a-z_0-9.]*|<=|>=|!=|[-+<>=(),])")
_COMPARISONS = {
    "=": Column.__eq__,
    "!=": Column.__ne__,
    "<": Column.__lt__,
    "<=": Column.__le__,
    ">": Column.__gt__,
    ">=": Column.__ge__,
}


@cache
def condition(text: str) -> Column:
    """Return the column of a condition.

    It may have names, whole numbers, texts, comparisons, sums, and, or, not, is null, size, array_contains.

    Raises:
        ValueError: The condition has something else.
    """
    return _Parser(text).parsed()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = []
        at = 0
        while at < len(text.rstrip()):
            found = _TOKEN.match(text, at)
            if found is None:
                raise self._error(text[at:])
            self._tokens.append(found[1])
            at = found.end()

    def parsed(self) -> Column:
        column = self._either()
        if self._tokens:
            raise self._error(self._tokens[0])
        return column

    def _error(self, found: str) -> ValueError:
        return ValueError(f"cannot evaluate {found!r} in the condition {self._text!r}")

    def _takes(self, *tokens: str) -> str | None:
        if self._tokens and self._tokens[0] in tokens:
            return self._tokens.pop(0)
        return None

    def _need(self, token: str) -> None:
        if not self._takes(token):
            raise self._error(" ".join(self._tokens[:1]))

    def _either(self) -> Column:
        column = self._both()
        while self._takes("or"):
            column = column | self._both()
        return column

    def _both(self) -> Column:
        column = self._negated()
        while self._takes("and"):
            column = column & self._negated()
        return column

    def _negated(self) -> Column:
        return ~self._negated() if self._takes("not") else self._compared()

    def _compared(self) -> Column:
        column = self._summed()
        if self._takes("is"):
            is_negated = self._takes("not")
            self._need("null")
            return column.isNotNull() if is_negated else column.isNull()
        sign = self._takes(*_COMPARISONS)
        return column if sign is None else _COMPARISONS[sign](column, self._summed())

    def _summed(self) -> Column:
        column = self._single()
        while sign := self._takes("+", "-"):
            column = column + self._single() if sign == "+" else column - self._single()
        return column

    def _single(self) -> Column:
        if not self._tokens:
            raise self._error("")
        token = self._tokens.pop(0)
        if token == "(":
            column = self._either()
            self._need(")")
            return column
        if token[0] == "'":
            return literal(token[1:-1])
        if token.isdigit():
            return literal(int(token))
        if not token[0].isalpha() and token[0] != "_":
            raise self._error(token)
        return self._called(token) if self._takes("(") else named(token)

    def _called(self, function: str) -> Column:
        words = [self._either()]
        while self._takes(","):
            words.append(self._either())
        self._need(")")
        if function == "size" and len(words) == 1:
            return size(words[0])
        if function == "array_contains" and len(words) == 2:
            return array_contains(*words)
        raise self._error(function)
