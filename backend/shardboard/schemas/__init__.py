"""Wire shapes of the REST API, one file per noun."""
