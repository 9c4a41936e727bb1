"""Operand fetch of a systolic array: reads lines of shared memory in the order of the array."""
