"""The cut of the logs into processes, brokers and clusters, before anything is concluded from their lines."""
