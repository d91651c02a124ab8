"""What an operator asks, one named function for each question: tables in, a small table out.

Each takes tables of ``analysis.derived`` (or ``events``) and answers with a DataFrame in the order in which
it is best read. Few rows of it ever reach the driver.
"""
