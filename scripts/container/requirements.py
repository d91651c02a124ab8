"""Print the requirements in pyproject.toml, one a line: ``requirements.py dependencies EXTRA…``.

The images install this before the source is there, so that a change of the source alone downloads nothing.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
groups = {"dependencies": project["dependencies"], **project["optional-dependencies"]}
print(*(requirement for name in sys.argv[1:] for requirement in groups[name]), sep="\n")
