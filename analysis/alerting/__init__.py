"""``--follow`` raises alerts: ``decide`` says which, the other modules keep, send and show them.

``decide`` is pure: the alerts so far and the episodes that the lines prove now (``analysis.story.episodes``)
give the alerts afterwards. ``store`` keeps them beside the tables, ``webhook`` sends them, ``metrics`` shows
them to Prometheus, ``watch`` puts these together, ``arguments`` reads the command line.
"""
