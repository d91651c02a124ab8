"""The tables computed from ``events``: leaders, controllers, ISRs, requests and outages.

Each module holds the function of one table, from DataFrames to a DataFrame. The functions read only columns
of ``events``, so one run over files and ``--follow`` give the same tables.

Brokers' clocks differ. Rows of one partition are therefore ordered by leader epoch and zkVersion, rows of
different controllers by controller epoch. The clock orders only the lines of one process, and lines without
an epoch (releases up to 1.0).
"""
