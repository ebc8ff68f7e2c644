"""Pure decisions on plain values: standard library only, no clock, no I/O."""
