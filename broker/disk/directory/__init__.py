"""A log directory and all logs in it."""
