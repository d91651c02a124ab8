"""``python -m barnabas``: the same as the command ``barnabas``."""

from barnabas.cli import main

main()
