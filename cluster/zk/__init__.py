"""ZooKeeper: every path and body we read or write, and the one session that carries them."""
