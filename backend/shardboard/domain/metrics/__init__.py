"""Rates, latency cells, histograms and roll-ups."""
