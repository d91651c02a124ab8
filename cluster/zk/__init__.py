"""ZooKeeper: the paths and bodies of znodes, the session, and typed operations."""
