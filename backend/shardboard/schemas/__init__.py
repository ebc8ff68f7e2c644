"""Request and reply models of the REST API, one file per resource."""
