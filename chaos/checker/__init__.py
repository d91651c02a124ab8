"""The checks of a chaos run beyond its history: commits, epochs, ZooKeeper's transaction logs. Pure."""
