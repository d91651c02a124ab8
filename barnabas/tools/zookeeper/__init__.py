"""The tools for ZooKeeper: its shell and the migration of its ACLs; sessions of all tools with it."""
