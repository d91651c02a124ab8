"""Quotas of clients, connections and replication."""
