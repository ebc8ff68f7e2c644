"""Event stream: samples and changes of all areas."""
