"""The running of the analysis: the engine, the Spark session and its Java, threads, the end by a signal."""
