"""Kafka's znodes: the paths and bodies that release 2.8 with IBP 2.6 uses. Pure.

Source: ``kafka.zk.ZkData`` of release 2.8. Bodies are JSON without spaces; readers look up keys by name, so
their order does not matter. Bodies are written in our release's version, and read in every version that a
cluster may hold.
"""
