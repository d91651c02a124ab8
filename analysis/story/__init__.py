"""The incident model: what happened, why, and what the logs do not show; pure, from rows to sentences.

``observed`` holds what the lines say, ``brokers`` derives each broker's absences from it, ``partitions`` each
partition's outages, ``incidents`` puts them together and ranks them, ``sentences`` formats them. Every value
is a ``Fact``, a ``Bound`` or an ``Unknown`` (``certainty``). No module here needs Spark.
"""
