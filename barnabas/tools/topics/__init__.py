"""``kafka-topics.sh``: create, extend, delete, list and describe topics."""
