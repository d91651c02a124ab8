"""The group coordinator: the shell around ``broker/core/group``.

It coordinates the groups whose partition of ``__consumer_offsets`` this broker leads: it loads them from the
log, appends commits and group records, runs the timers and answers the handlers. Kafka: ``GroupCoordinator``
and ``GroupMetadataManager`` of release 2.8.
"""
