"""HTTP layer: handlers parse, authorize, call a service or a query, and return. One file per resource."""
