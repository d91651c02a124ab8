"""The client's side of SASL DIGEST-MD5 (RFC 2831), by which ZooKeeper knows its clients.

The library that kazoo uses for it takes its nonces from ``random``, and does not end if a server has no SASL.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping

from barnabas.cluster.zk.client.security import Login

ZOOKEEPER_URI = "zookeeper/zk-sasl-md5"
"""The service and host that every ZooKeeper server has (``SecurityUtils.createSaslServer`` of ZooKeeper)."""

_DIRECTIVE = re.compile(r'\s*([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]*))\s*(?:,|$)', re.DOTALL)
_FIRST = "00000001"  # nc: each connection has a nonce of its own
_QOP = "auth"


class DigestMd5Error(ValueError):
    """A message of the server that is malformed, asks for what is not supported, or proves nothing."""


class DigestMd5:
    """One authentication.

    Args:
        login: The user and the password.
        cnonce: A text that cannot be guessed, never used before.
        uri: The service and the host.
    """

    def __init__(self, login: Login, cnonce: str, uri: str = ZOOKEEPER_URI) -> None:
        self._login = login
        self._cnonce = cnonce
        self._uri = uri
        self._expected = ""

    def respond(self, challenge: bytes) -> bytes:
        """Return the response to the server's first message.

        Raises:
            DigestMd5Error: The message is no challenge that can be met.
        """
        asked = _directives(challenge)
        nonce, realm = asked.get("nonce"), asked.get("realm", "")
        if not nonce or asked.get("algorithm") != "md5-sess":
            raise DigestMd5Error("the server sent no challenge of DIGEST-MD5")
        if _QOP not in re.split(r"[\s,]+", asked.get("qop", _QOP)):
            raise DigestMd5Error(f"the server asks for the quality of protection {asked['qop']}, not {_QOP}")
        key = hashlib.md5(b":".join(map(_octets, (self._login.username, realm, self._login.password))))
        secret = _md5(key.digest() + f":{nonce}:{self._cnonce}".encode())

        def proof(method: str) -> str:
            what = _md5(f"{method}:{self._uri}".encode())
            return _md5(f"{secret}:{nonce}:{_FIRST}:{self._cnonce}:{_QOP}:{what}".encode())

        self._expected = proof("")
        said = {
            "username": _quoted(self._login.username),
            "realm": _quoted(realm),
            "nonce": _quoted(nonce),
            "nc": _FIRST,
            "cnonce": _quoted(self._cnonce),
            "digest-uri": _quoted(self._uri),
            "response": proof("AUTHENTICATE"),
            "qop": _QOP,
            "charset": "utf-8",
        }
        return ",".join(f"{name}={value}" for name, value in said.items()).encode()

    def verify(self, answer: bytes) -> None:
        """Check that the server's last message proves that it knows the password, too.

        Raises:
            DigestMd5Error: It does not.
        """
        proof = _directives(answer).get("rspauth", "")
        if not self._expected or not hmac.compare_digest(proof.encode(), self._expected.encode()):
            raise DigestMd5Error("the server does not know the password")


def _directives(message: bytes) -> Mapping[str, str]:
    """Parse ``name=value,name="value"``; the first value of a name counts."""
    found: dict[str, str] = {}
    for name, value in _pairs(message):
        found.setdefault(name, value)
    return found


def _pairs(message: bytes) -> Iterator[tuple[str, str]]:
    try:
        text = message.decode()
    except UnicodeDecodeError:
        raise DigestMd5Error("the server's message is not UTF-8") from None
    at = 0
    while at < len(text):
        directive = _DIRECTIVE.match(text, at)
        if directive is None:
            raise DigestMd5Error(f"the server's message is malformed at character {at + 1}")
        name, quoted, plain = directive.groups()
        yield name.lower(), plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
        at = directive.end()


def _md5(octets: bytes) -> str:
    return hashlib.md5(octets).hexdigest()


def _octets(text: str) -> bytes:
    """Encode a text for hashing: in ISO 8859-1 where it can be, else in UTF-8 (RFC 2831, 2.1.2.1)."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode()


def _quoted(text: str) -> str:
    return '"{}"'.format(re.sub(r'(["\\])', r"\\\1", text))
