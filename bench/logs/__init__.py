"""Logs of benches: a writer of partition logs, a generator of state-change logs, and a plain reader."""
