"""The log cleaner: it compacts this broker's logs, leaders and followers alike, each by its own log.

`log_cleaner.LogCleaner` chooses a log and plans its cleaning (`job`), a process beside the broker does the
file work (`process` here, `worker` there, `rewrite` for the files), and ``broker/disk`` puts the new segments
in place. The decisions are in ``broker/cleaning/core``. Kafka: ``LogCleaner`` and ``LogCleanerManager`` of
release 2.8.
"""
