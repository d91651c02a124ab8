"""The workload: clients that write, read and commit, and the history that they record."""
