"""Files that only their owner may read."""

from __future__ import annotations

from pathlib import Path


def write_secret(path: Path, text: str) -> None:
    """Write a file of mode 0600; it is never open to others, and never half-written under its name."""
    new = path.with_name(f"{path.name}.tmp")
    new.unlink(missing_ok=True)
    new.touch(mode=0o600, exist_ok=False)
    new.write_text(text, encoding="utf-8")
    new.replace(path)
