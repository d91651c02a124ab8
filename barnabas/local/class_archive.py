"""The archive of ZooKeeper's classes, which spares Java a third of the CPU time of a start (JEP 350).

The first server writes it when it is stopped; later ones map it into memory, and neither parse nor verify
these classes. It lies in the cache folder, and its name tells Java, the jars and the options.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_MAGIC_SIZE = 4


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The archive for one kind of server.

    Attributes:
        kept: The path of the archive.
        new: The path to which this server writes one when it ends; None if there is one.
    """

    kept: Path
    new: Path | None

    @classmethod
    def find(cls, cache: Path, java: str, jars: Sequence[Path], options: Sequence[str]) -> Self | None:
        """Find the archive, or choose the path of a new one; None if none can be kept.

        An archive is code, so nobody else may write to its folder.

        Args:
            cache: The folder for all that Barnabas keeps.
            java: The path of the ``java``.
            jars: The class path. Java itself refuses an archive of other jars.
            options: What else tells which classes are loaded, such as the main class.
        """
        try:
            folder = cache / "classes"
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            found = folder.stat()
            files = [Path(java).resolve(), *jars]
            parts = [*(f"{file} {file.stat().st_mtime_ns}" for file in files), *options]
        except OSError:
            return None
        if found.st_uid != os.geteuid() or found.st_mode & 0o022:
            return None
        kept = folder / f"{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:16]}.jsa"
        return cls(kept, None if kept.is_file() else folder / f"{uuid.uuid4().hex}.new")

    def flags(self) -> list[str]:
        """Return the options with which Java uses the archive, or writes it when it ends in order."""
        use = f"SharedArchiveFile={self.kept}" if self.new is None else f"ArchiveClassesAtExit={self.new}"
        # Java would write warnings about an archive to the standard output. Without it, it starts as ever.
        return [f"-XX:{use}", "-Xshare:auto", "-Xlog:disable", "-Xlog:all=off"]

    def keep(self) -> None:
        """Keep the archive that a server wrote to its end; delete any other. The server has ended."""
        if self.new is None:
            return
        with contextlib.suppress(OSError):
            if _is_whole(self.new):
                self.new.replace(self.kept)
            else:
                self.new.unlink()


def _is_whole(archive: Path) -> bool:
    """Return whether an archive was written to its end: Java writes the header last, with a magic number."""
    with archive.open("rb") as file:
        return any(file.read(_MAGIC_SIZE))
