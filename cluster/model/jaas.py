"""The syntax of JAAS: an entry in ``sasl.jaas.config``, and files with sections of entries.

An entry is a login module, a flag, and options.
Sources: ``JaasConfig`` of release 2.8, and Java's class ``com.sun.security.auth.login.ConfigFile``. No
class is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

MODULES = "org.apache.kafka.common.security"
"""The package of Kafka's login modules."""

PLAIN_MODULE = f"{MODULES}.plain.PlainLoginModule"
SCRAM_MODULE = f"{MODULES}.scram.ScramLoginModule"
OAUTHBEARER_MODULE = f"{MODULES}.oauthbearer.OAuthBearerLoginModule"

_FLAGS = frozenset({"required", "requisite", "sufficient", "optional"})
_TOKEN = re.compile(
    r"""\s+|//[^\n]*|/\*.*?\*/|/[^\n]*
    |(?P<word>[A-Za-z_$][\w.$-]*)
    |"(?P<double>(?:[^"\\\n]|\\.)*)"|'(?P<single>(?:[^'\\\n]|\\.)*)'
    |(?P<sign>[=;{}])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class JaasError(ValueError):
    """A text that is no JAAS entry. The message repeats none of its values, which may be secrets."""


@dataclass(frozen=True, slots=True)
class JaasEntry:
    """A login module with its options, which it does not show.

    Attributes:
        module: The name of the class.
        options: The options by name.
    """

    module: str
    options: Mapping[str, str] = field(repr=False)


def parse_jaas(text: str) -> JaasEntry:
    """Parse a text with exactly one entry, ``module flag key="value" ...;``.

    Raises:
        JaasError: It is none.
    """
    return _entry(list(_tokens(text)))


def parse_jaas_file(text: str) -> Mapping[str, tuple[JaasEntry, ...]]:
    """Parse a JAAS file, ``name { module flag key="value" ...; };``, into the entries of each section.

    Unlike in Java, values such as ``${user.home}`` are not expanded.

    Raises:
        JaasError: It is none.
    """
    sections: dict[str, tuple[JaasEntry, ...]] = {}
    rest = list(_tokens(text))
    while rest:
        (name, name_is_sign), *opening = rest[:2]
        if name_is_sign or opening != [("{", True)]:
            raise JaasError("sections of the form name { entries };")
        if name in sections:
            raise JaasError(f"the section {name} once")
        end = _index(rest, "}")
        if rest[end + 1 : end + 2] != [(";", True)]:
            raise JaasError(f"}}; at the end of section {name}")
        sections[name] = tuple(_entries(rest[2:end]))
        rest = rest[end + 2 :]
    return sections


def _entries(tokens: list[tuple[str, bool]]) -> Iterator[JaasEntry]:
    while tokens:
        end = _index(tokens, ";") + 1
        yield _entry(tokens[:end])
        tokens = tokens[end:]


def _index(tokens: list[tuple[str, bool]], sign: str) -> int:
    """Return the index of the first ``sign``; the number of tokens if there is none."""
    return next((index for index, token in enumerate(tokens) if token == (sign, True)), len(tokens))


def _entry(tokens: list[tuple[str, bool]]) -> JaasEntry:
    """Return the entry that consists of all the tokens."""
    if len(tokens) < 3:
        raise JaasError("a login module, a flag, options and a semicolon")
    (module, module_is_sign), (flag, _), *rest = tokens
    if module_is_sign:
        raise JaasError("the name of a login module first")
    if flag.lower() not in _FLAGS:
        raise JaasError(f"one of {', '.join(sorted(_FLAGS))} behind the login module")
    if rest[-1] != (";", True):
        raise JaasError("a semicolon at the end")
    options: dict[str, str] = {}
    while len(rest) > 1:
        match rest[:3]:
            case [(key, False), ("=", True), (value, False)]:
                options[key] = value
            case [(";", True), *_]:
                raise JaasError("one login module and nothing behind its semicolon")
            case _:
                last = f" behind {next(reversed(options))}" if options else ""
                raise JaasError(f'options of the form key="value"{last}')
        rest = rest[3:]
    return JaasEntry(module, options)


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the words, strings and signs of a text; signs are marked."""
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise JaasError(f"words, strings in quotes, = and ; (character {at + 1} begins none of these)")
        at = found.end()
        match found.lastgroup:
            case "word":
                yield found["word"], False
            case "double" | "single":
                quoted = found[found.lastgroup]
                yield re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), quoted, flags=re.DOTALL), False
            case "sign":
                yield found["sign"], True
