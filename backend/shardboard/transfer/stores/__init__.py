"""Access to locations: one module per protocol, with the interface of `store.py`."""
