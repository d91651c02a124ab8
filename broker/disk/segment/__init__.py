"""One segment of a log: its records, its indexes, and what is done to the files of one."""
