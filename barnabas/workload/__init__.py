"""The workload: clients that write unique values and read them back, and the history that they record."""
