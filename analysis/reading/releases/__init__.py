"""The lines of all releases since 0.8: the tables of those that 2.8 does not write, and the search in all."""
