"""What dbt-spark is given: the plugin, its connections, and what macros ask of Python."""
