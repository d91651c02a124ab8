"""Files of bytes: logs that are not plain lines, and the Parquet files of rows."""
