"""Node operations, agent certificates and the console CA."""
