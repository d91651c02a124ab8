"""The broker's part in ZooKeeper: its ids, its session and registration, and what it writes there itself."""
