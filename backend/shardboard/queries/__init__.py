"""Read-only queries for the API, which combine stored and live data."""
