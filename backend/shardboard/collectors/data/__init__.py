"""Results of transfers that a request waits for."""
