"""Benchmarks: one file a question; `make bench` runs them and writes docs/benchmarks.md."""
