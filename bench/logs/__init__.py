"""Logs of benches: a writer of partition logs, and a generator of state-change logs."""
