"""A PySpark job that reads state-change.log files and reports what happened in the cluster."""
