"""The lines about brokers rather than partitions, of all releases: kinds as in ``reading.broker_kinds``."""
