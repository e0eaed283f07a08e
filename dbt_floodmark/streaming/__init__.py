"""Structured Streaming as dbt models: sources, checkpoints, queries, and `floodmark stream`."""
