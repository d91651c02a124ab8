"""The incident model: the events, their causes, and the gaps in the logs.

Pure, from rows to sentences. ``observed`` holds the facts in the lines, ``brokers`` derives each broker's
absences from it, ``partitions`` each partition's outages, ``incidents`` puts them together and ranks them,
``sentences`` formats them. Every value is a ``Fact``, a ``Bound`` or an ``Unknown`` (``certainty``). No
module here needs Spark.
"""
