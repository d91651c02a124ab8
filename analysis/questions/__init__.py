"""Questions that an operator asks, one function each, from tables to a small table.

Each function takes tables of ``analysis.derived`` (or ``events``) and returns a DataFrame in reading order.
Only its first rows ever reach the driver.
"""
