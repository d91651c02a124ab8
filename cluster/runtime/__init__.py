"""How a process of ours runs: mailbox, tasks with owners, logs, settings, metrics."""
