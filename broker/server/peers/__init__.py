"""gRPC between brokers: the listener, the check of its callers, and calls of the active controller."""
