"""Local clusters: console and agents on one machine, for the demo, tests and benchmarks."""
