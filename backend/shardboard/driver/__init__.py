"""The only code of the console that talks to machines."""
