"""Steps of benchmark runs."""
