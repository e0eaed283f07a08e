"""What starts Spark, and what it says: configuration, Java, jars, metastore, server, messages."""
