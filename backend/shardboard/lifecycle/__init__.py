"""Election of the leading console, and supervision of the loops."""
