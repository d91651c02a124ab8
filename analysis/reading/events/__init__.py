"""The table ``events``: its columns, its kinds of line, and what one entry of the logs gives of them."""
