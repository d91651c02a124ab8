"""Names that clients choose, in log lines."""

from __future__ import annotations

from barnabas.cluster.model.log_text import printable, shortened


def test_a_long_name_is_cut_in_a_line_with_its_length():
    assert shortened("a" * 255) == "a" * 255
    assert shortened("a" * 256) == "a" * 255 + "... (256 characters)"


def test_a_name_cannot_break_or_forge_a_line():
    assert printable("plain, with ümlaut") == "plain, with ümlaut"
    assert printable("a\nPrincipal = b\x1b[0m\u2028") == "a\\nPrincipal = b\\x1b[0m\\u2028"
