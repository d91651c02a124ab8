"""The checker: what a history of writes and reads proves about the cluster. Pure."""
