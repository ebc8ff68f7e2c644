"""Reads that answer questions of the API: what is stored and what is seen, put together. They write nothing."""
