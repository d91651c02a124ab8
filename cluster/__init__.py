"""The code that all processes of a cluster share: model, ZooKeeper's tree, RPCs, process runtime."""
