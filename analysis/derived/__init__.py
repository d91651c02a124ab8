"""The tables that are computed from ``events``: who led, who was controller, who was in sync, what was asked.

Each module holds the function of one table, DataFrame in and DataFrame out. They see only columns of
``events``, never the way it was made, so they are the same after one run over files and after a stream.

Brokers' clocks differ. Within a partition the leader epoch and zkVersion order, between controllers the
controller epoch; the clock orders what one process wrote, and what has no epoch (up to 1.0).
"""
