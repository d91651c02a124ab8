"""One ZooKeeper session, and the only code that imports kazoo."""
