"""HTTP only: parse, authorise, call a service or a query, return. One file per noun."""
