"""Records and files of a log as text, for ``kafka-dump-log.sh`` and ``kafka-console-consumer.sh``."""
