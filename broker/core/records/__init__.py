"""Record batches: their format, their checks, and the producers that write them."""
