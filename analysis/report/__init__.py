"""What is told of the answers: one HTML file with pictures, text for a terminal, JSON for a program.

``document`` reads few rows of the answers into plain data; the others only write that data down.
"""
