"""Request handling shared by all endpoints: credentials, roles, parameters, limits and errors."""
