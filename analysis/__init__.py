"""What happened? A PySpark job over state-change.log files."""
