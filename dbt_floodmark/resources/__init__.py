"""Files that Spark is started with."""
