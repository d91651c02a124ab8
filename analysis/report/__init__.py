"""The report of the answers: an HTML file with pictures, text for a terminal, JSON for a program.

``document`` reads the first rows of each answer into plain data; the other modules only format that data.
"""
