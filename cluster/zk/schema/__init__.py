"""Kafka's znodes, pure: every path, and encode and decode of every body that release 2.8 with IBP 2.6 uses.

Source: ``kafka.zk.ZkData`` of release 2.8. Bodies are JSON without spaces; readers look keys up by name, so
their order means nothing. We write our release's version and read any that a cluster may hold.
"""
