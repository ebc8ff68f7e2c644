"""Collection of the output of load generators."""
