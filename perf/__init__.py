"""Benchmarks of `make bench`. See README.md in this directory."""
