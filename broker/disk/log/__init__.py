"""One partition's log: its segments, checkpoints and recovery."""
