"""HTTP layer: handlers parse, authorise, call a service or a query, and return. One file per resource."""
