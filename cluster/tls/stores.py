"""Key and trust stores by Kafka's settings, read as PEM for Python's ``ssl`` and for gRPC alike.

The order of the checks is that of Kafka's ``DefaultSslEngineFactory`` (release 2.8; KIP-651). There are four
differences: JKS, which only Java reads, is refused; a store with the type JKS, the default, may be PKCS12, as
in Java; a key in a PEM file need not be encrypted; and there must be a trust store wherever one is used,
because no authority of the operating system is trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from barnabas.cluster.model.configs.declarations import HIDDEN, ConfigError, Password, Value
from barnabas.cluster.tls import pem, pkcs12

T = TypeVar("T")

_PEM, _PKCS12, _JKS = "PEM", "PKCS12", "JKS"
_EXTENSIONS = {".pem": _PEM, ".p12": _PKCS12, ".pfx": _PKCS12, ".jks": _JKS}


@dataclass(frozen=True, slots=True)
class Identity:
    """A private key and its certificates.

    Attributes:
        chain: The certificates as PEM, the key's own first.
        key: The private key, PKCS#8 as PEM, not encrypted.
    """

    chain: bytes
    key: bytes

    def __repr__(self) -> str:
        return f"Identity({HIDDEN})"


@dataclass(frozen=True, slots=True)
class Stores:
    """The content of a key store and a trust store.

    Attributes:
        identity: The key and its certificates; None without a key store.
        trusted: The trusted certificates as PEM; None without a trust store.
        files: The files that were read.
    """

    identity: Identity | None
    trusted: bytes | None
    files: tuple[Path, ...]


def load_stores(values: Mapping[str, Value], named: Callable[[str], str] = str) -> Stores:
    """Read the stores that settings name.

    Args:
        values: The values of the settings ``ssl.keystore.*``, ``ssl.key.password`` and ``ssl.truststore.*``;
            one that is not there is not set. A store without a type has that of its file's extension.
        named: Returns the name of a setting in errors, for those that stand behind a prefix.

    Raises:
        ConfigError: A setting is bad or contradicts another, or a file cannot be read; it has no secret.
    """
    settings = _Settings(values, named)
    identity, key_files = _identity(settings)
    trusted, trust_files = _trusted(settings)
    return Stores(identity, trusted, key_files + trust_files)


class _Settings:
    """The values of the settings of stores, and the errors about them."""

    def __init__(self, values: Mapping[str, Value], named: Callable[[str], str]) -> None:
        self._values = values
        self._named = named

    def text(self, name: str) -> str | None:
        """Return the text of a setting, also that of a secret; None if it is not set."""
        value = self._values.get(name)
        if isinstance(value, Password):
            return value.value
        return None if value is None else str(value)

    def error(self, name: str, allowed: str) -> ConfigError:
        """Return the error for the value of a setting, which it hides if it is a secret."""
        value = self._values.get(name)
        return ConfigError(self._named(name), None if value is None else str(value), allowed)

    def refuse(self, name: str, reason: str) -> None:
        """Refuse a setting that is set.

        Raises:
            ConfigError: It is.
        """
        if self._values.get(name) is not None:
            raise self.error(name, f"not set, {reason}")


def _identity(settings: _Settings) -> tuple[Identity | None, tuple[Path, ...]]:
    inline, location = settings.text("ssl.keystore.key"), settings.text("ssl.keystore.location")
    if inline is not None:
        return _inline_identity(settings, inline), ()
    settings.refuse("ssl.keystore.certificate.chain", "because its key, ssl.keystore.key, is not")
    if location is None:
        settings.refuse("ssl.keystore.password", "because ssl.keystore.location is not")
        return None, ()
    content, kind = _content(settings, "ssl.keystore", location)
    if kind == _PEM:
        settings.refuse(
            "ssl.keystore.password", "because a PEM store has none; ssl.key.password is its key's"
        )
        text = _decoded(settings, "ssl.keystore.location", content)
        key = _key(settings, "ssl.keystore.location", text, settings.text("ssl.key.password"))
        chain = _read(settings, "ssl.keystore.location", lambda: pem.read_certificates(text))
    else:
        password = settings.text("ssl.keystore.password")
        if password is None:
            raise settings.error("ssl.keystore.password", f"given, because {location} is a {kind} store")
        key, chain = _read(settings, "ssl.keystore", lambda: pkcs12.read_identity(content, password))
        if settings.text("ssl.key.password") not in {None, password}:
            raise settings.error("ssl.key.password", "that of the store: PKCS12 has one password for both")
    return _matched(settings, "ssl.keystore.location", key, chain), (Path(location),)


def _inline_identity(settings: _Settings, text: str) -> Identity:
    _require_pem(settings, "ssl.keystore.type", "ssl.keystore.key")
    chain = settings.text("ssl.keystore.certificate.chain")
    if chain is None:
        raise settings.error("ssl.keystore.certificate.chain", "given, because ssl.keystore.key is")
    settings.refuse("ssl.keystore.location", "because ssl.keystore.key is")
    settings.refuse("ssl.keystore.password", "because ssl.keystore.key is; ssl.key.password is its password")
    key = _key(settings, "ssl.keystore.key", text, settings.text("ssl.key.password"))
    name = "ssl.keystore.certificate.chain"
    return _matched(settings, name, key, _read(settings, name, lambda: pem.read_certificates(chain)))


def _trusted(settings: _Settings) -> tuple[bytes | None, tuple[Path, ...]]:
    inline, location = settings.text("ssl.truststore.certificates"), settings.text("ssl.truststore.location")
    if inline is not None:
        _require_pem(settings, "ssl.truststore.type", "ssl.truststore.certificates")
        settings.refuse("ssl.truststore.location", "because ssl.truststore.certificates is")
        settings.refuse("ssl.truststore.password", "because ssl.truststore.certificates is")
        name = "ssl.truststore.certificates"
        return _pem_of(_read(settings, name, lambda: pem.read_certificates(inline))), ()
    if location is None:
        settings.refuse("ssl.truststore.password", "because ssl.truststore.location is not")
        return None, ()
    content, kind = _content(settings, "ssl.truststore", location)
    if kind == _PEM:
        settings.refuse("ssl.truststore.password", "because a PEM store has none")
        text = _decoded(settings, "ssl.truststore.location", content)
        found = _read(settings, "ssl.truststore.location", lambda: pem.read_certificates(text))
    else:
        password = settings.text("ssl.truststore.password")
        found = _read(settings, "ssl.truststore", lambda: pkcs12.read_trusted(content, password))
    return _pem_of(found), (Path(location),)


def _content(settings: _Settings, store: str, location: str) -> tuple[bytes, str]:
    """Return the content of a store's file, and its type."""
    kind = _kind(settings, store, location)
    name = f"{store}.location"
    try:
        content = Path(location).read_bytes()
    except OSError as error:
        raise settings.error(name, f"a file that can be read: {error.strerror}") from None
    if pkcs12.is_java_store(content):
        target = Path(location).with_suffix(".p12")
        raise settings.error(
            name,
            "a PKCS12 or PEM store, because only Java reads JKS; convert it with `keytool -importkeystore "
            f"-srckeystore {location} -destkeystore {target} -deststoretype PKCS12`",
        )
    if pem.is_pem(content) != (kind == _PEM):
        found = _PEM if kind != _PEM else _PKCS12
        raise settings.error(f"{store}.type", f"{found}, because {location} looks like it")
    return content, kind


def _kind(settings: _Settings, store: str, location: str) -> str:
    kind = settings.text(f"{store}.type")
    if kind is None:
        kind = _EXTENSIONS.get(Path(location).suffix.lower(), _PKCS12)
    # Java's own types have no case; PEM is Kafka's.
    if kind != _PEM and kind.upper() not in {_PKCS12, _JKS}:
        raise settings.error(f"{store}.type", "PKCS12 or PEM")
    return _PEM if kind == _PEM else _PKCS12


def _require_pem(settings: _Settings, name: str, why: str) -> None:
    if settings.text(name) != _PEM:
        raise settings.error(name, f"PEM, because {why} is set")


def _decoded(settings: _Settings, name: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise settings.error(name, "a PEM file in UTF-8") from None


def _key(settings: _Settings, name: str, text: str, password: str | None) -> pem.PrivateKey:
    try:
        return pem.read_key(text, password)
    except (pem.PasswordMissingError, pem.WrongPasswordError) as error:
        raise settings.error("ssl.key.password", str(error)) from None
    except pem.StoreError as error:
        raise settings.error(name, str(error)) from None


def _read(settings: _Settings, name: str, read: Callable[[], T]) -> T:
    """Return what ``read`` returns; its errors are about the setting or store ``name``."""
    try:
        return read()
    except (pem.PasswordMissingError, pem.WrongPasswordError) as error:
        raise settings.error(f"{name}.password", str(error)) from None
    except pem.StoreError as error:
        location = name if settings.text(name) is not None else f"{name}.location"
        raise settings.error(location, str(error)) from None


def _matched(settings: _Settings, name: str, key: pem.PrivateKey, chain: list[x509.Certificate]) -> Identity:
    own = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    first = chain[0].public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if own != first:
        raise settings.error(name, "a chain that begins with the certificate of the private key")
    return Identity(_pem_of(chain), key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def _pem_of(certificates: Iterable[x509.Certificate]) -> bytes:
    return b"".join(each.public_bytes(Encoding.PEM) for each in certificates)
