"""Pure decisions on plain values. Standard library only, no clock, no I/O."""
