"""Published benchmarks: their size, what fits the cluster, deviations, and results."""
