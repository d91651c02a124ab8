"""The rules by which the subject of a client's certificate becomes a user's name.

Source: ``SslPrincipalMapper`` of release 2.8; KIP-371. Patterns are Python's regular expressions, whose
common part with Java's serves all that names of certificates need; what only Java knows is refused.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

_RULE = r"(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?).*?|(.*?)"
_SPLITTER = re.compile(rf"\s*({_RULE})\s*(,\s*|$)")
_PARSER = re.compile(_RULE)
_EXPECTED = "DEFAULT or RULE:pattern/replacement/ with L, U or nothing behind it"
_REFERENCE = re.compile(r"\\(.)|\$(\d*)", re.DOTALL)


class BadRuleError(ValueError):
    """An error for a rule; the message names it and what was expected."""


class NoMatchingRuleError(ValueError):
    """An error for a name that no rule matches."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule with a pattern for the whole name.

    Attributes:
        pattern: The pattern.
        replacement: Texts and numbers of groups, in turn.
        case: ``L`` for lower case, ``U`` for upper case, else empty.
    """

    pattern: re.Pattern[str]
    replacement: tuple[str | int, ...]
    case: str

    def apply(self, name: str) -> str | None:
        """Return the user's name, or None if the rule does not match."""
        if self.pattern.fullmatch(name) is None:
            return None
        # As in Java, each place that the pattern finds is replaced, rather than the whole match.
        user = self.pattern.sub(self._replaced, name)
        return user.lower() if self.case == "L" else user.upper() if self.case == "U" else user

    def _replaced(self, match: re.Match[str]) -> str:
        return "".join(
            part if isinstance(part, str) else match.group(part) or "" for part in self.replacement
        )


class PrincipalMapping:
    """The rules of ``ssl.principal.mapping.rules``; the first one that matches a name decides.

    Args:
        text: The rules, separated by commas.

    Raises:
        BadRuleError: A rule is bad.
    """

    def __init__(self, text: str) -> None:
        self._rules = _parsed(text)

    def user_of(self, name: str) -> str:
        """Return the name of the user whose certificate has this subject.

        Raises:
            NoMatchingRuleError: No rule matches it.
        """
        for rule in self._rules:
            user = name if rule is None else rule.apply(name)
            if user is not None:
                return user
        raise NoMatchingRuleError(f"No rule of ssl.principal.mapping.rules applies to {name}")


def _parsed(text: str) -> Sequence[_Rule | None]:
    """Return the rules; None stands for DEFAULT. Empty ones are skipped."""
    rules: list[_Rule | None] = []
    for rule in (match[1] for match in _SPLITTER.finditer(text.strip())):
        match = _PARSER.match(rule)
        if match is None or match.end() != len(rule):
            raise BadRuleError(f"the rule '{rule}' must be {_EXPECTED}")
        if match[1] is not None:
            rules.append(None)
        elif match[2] is not None:
            rules.append(_rule(rule, match[2], match[3], match[4]))
    return rules


def _rule(rule: str, pattern: str, replacement: str, case: str) -> _Rule:
    try:
        with warnings.catch_warnings():
            # A warning is about what Java reads in another way: sets within sets, and their intersections.
            warnings.simplefilter("error")
            compiled = re.compile(pattern, re.ASCII)
    except (re.error, Warning) as error:
        raise BadRuleError(f"the pattern of the rule '{rule}' is no regular expression: {error}") from None
    return _Rule(compiled, _parts(rule, replacement, compiled.groups), case)


def _parts(rule: str, replacement: str, groups: int) -> tuple[str | int, ...]:
    """Cut a replacement into texts and groups; ``$12`` is group 1 and ``2`` if there are fewer than 12."""
    parts: list[str | int] = []
    position = 0
    for match in _REFERENCE.finditer(replacement):
        parts.append(replacement[position : match.start()])
        position = match.end()
        if match[1] is not None:
            parts.append(match[1])
        elif not match[2]:
            raise BadRuleError(f"the rule '{rule}' must have the number of a group after each $")
        else:
            parts += _group(match[2], groups)
    return (*parts, replacement[position:])


def _group(digits: str, groups: int) -> tuple[str | int, ...]:
    for end in range(len(digits), 0, -1):
        if int(digits[:end]) <= groups:
            return (int(digits[:end]), digits[end:])
    return (f"${digits}",)
