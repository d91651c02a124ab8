"""Formats that several tools read or print: the text of a record, the assignment of a consumer."""
