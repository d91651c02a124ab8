"""Reads and writes of ZooKeeper, by subject."""
