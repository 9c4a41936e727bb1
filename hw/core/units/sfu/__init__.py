"""Special function unit."""
