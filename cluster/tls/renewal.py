"""The check whether a new key store may replace the present one while the broker runs.

Source: ``SslFactory.CertificateEntries`` of release 2.8: clients know the broker by its names, so a new
certificate must have those of the old one.
"""

from __future__ import annotations

from cryptography import x509

from barnabas.cluster.tls.context import name_of
from barnabas.cluster.tls.stores import Identity, Stores


def refusal_of(old: Stores, new: Stores) -> str | None:
    """Return why ``new`` cannot replace ``old``, or None if it can."""
    if old.identity is None or new.identity is None:
        return None if old.identity is new.identity else "a key store can be neither added nor removed"
    if (old.trusted is None) is not (new.trusted is None):
        return "a trust store can be neither added nor removed"
    before, after = _first(old.identity), _first(new.identity)
    if name_of(before) != name_of(after):
        return f"its certificate is for {name_of(after)}, not for {name_of(before)} as that in use"
    missing = sorted(_names(before) - _names(after))
    if missing:
        return f"its certificate lacks names of that in use: {', '.join(missing)}"
    return None


def _first(identity: Identity) -> x509.Certificate:
    return x509.load_pem_x509_certificates(identity.chain)[0]


def _names(certificate: x509.Certificate) -> set[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    return {str(name.value) for name in names}
