"""Control requests: one batch for each change of state, and the queue of each broker."""
