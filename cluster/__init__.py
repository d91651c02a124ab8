"""What all processes of a cluster agree on: the model, ZooKeeper's tree, the RPCs, the way a process runs."""
