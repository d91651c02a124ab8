"""The incident model: the events, their causes, and the gaps in the logs.

Pure, from rows to sentences. ``observed`` holds the facts in the lines, ``brokers`` derives each broker's
absences from it (``runs`` cuts its lines, ``causes`` says when and why it left), ``leaderships`` and
``partitions`` each partition's leaders and outages, ``charges`` gives these to absences, ``incidents`` puts
all together (``departures``, ``additions``) and ranks it, ``sentences`` formats it. Every
value is a ``Fact``, a ``Bound`` or an ``Unknown`` (``certainty``). No module here needs Spark.

What is looked up for each absence or outage is indexed (``intervals``, ``Observed.about``): logs with ten
times as many of them must not take a hundred times as long.
"""
