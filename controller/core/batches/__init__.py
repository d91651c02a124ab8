"""Control requests: the batch of a change of state, and the queue of each broker."""
