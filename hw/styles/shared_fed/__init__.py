"""Operands by address from shared memory, results in registers: a tensor unit per core."""
