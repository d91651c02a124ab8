"""The reader of ``__cluster_metadata``: from a KRaft cluster's log of records to rows of ``events``."""
