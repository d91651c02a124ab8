"""The runtime of our processes: mailbox, supervised tasks, logs, metrics, watchdog."""
