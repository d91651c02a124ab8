"""The lines of ``kafka-dump-log.sh``: what the files of a log hold, as text."""
