"""The only code of the console that communicates with other machines."""
