"""The authorizer: which client may do what, by the ACLs in ZooKeeper (``AclAuthorizer`` of Kafka 2.8)."""
