"""Commands that use the REST API of any console."""
